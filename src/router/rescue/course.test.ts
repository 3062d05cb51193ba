import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EngineApi } from "../../core/engine-api.ts";
import { type Fields, fieldsOf, parseJson } from "../../wire/json-value.ts";
import { SseSplitter } from "../../wire/sse/splitter.ts";
import { type EngineAsk, jsonBody } from "../translate/ask.ts";
import { messagesByChat, responsesByChat, type Translation } from "../translate/by-chat.ts";
import { EventsFilter } from "../translate/events-filter.ts";
import { courseOf } from "./course.ts";

const APIS: readonly EngineApi[] = ["chat", "continues-last-message"];
const DIALECT = { templateSettings: false, continuesWhenAsked: false };
const MESSAGES = { model: "m", stream: true, max_tokens: 99, messages: [{ role: "user", content: "hi" }] };
const RESPONSES = { model: "m", stream: true, input: "hi" };

function asChat(translate: Translation, body: object): EngineAsk {
  const asker = { shape: "openai", requestId: "r" } as const;
  const chat = translate({ asker, body: fieldsOf(body), dialect: DIALECT });
  if (!chat.ok) throw new Error(chat.error.message);
  return chat.value;
}

/** A request that an engine has words for, and chat too. */
function foreign(target: string, translate: Translation, body: object): EngineAsk {
  const chat = asChat(translate, body);
  return { target, body: jsonBody(body), rewrite: () => undefined, asChat: () => ({ ok: true, value: chat }) };
}

const chunk = (choice: object): string =>
  `data: ${JSON.stringify({ id: "chatcmpl-x", created: 1, model: "m", choices: [{ index: 0, ...choice }] })}\n\n`;
const END = `${chunk({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`;
const chatOf = (texts: readonly string[]): string => texts.map((content) => chunk({ delta: { content } })).join("");

/** The whole stream in the client's words. */
function spoken(ask: EngineAsk, texts: readonly string[]): readonly string[] {
  const rewrite = ask.rewrite({ status: 200, isStream: true });
  if (rewrite?.kind !== "events") throw new Error("no events");
  const bytes = new EventsFilter(rewrite).finish(Buffer.from(chatOf(texts) + END));
  return eventsIn(bytes);
}

const eventsIn = (bytes: Buffer | undefined): readonly string[] => bytes?.toString().split(/(?<=\n\n)/) ?? [];

const CLIENTS = [
  { name: "Messages", path: "/v1/messages", translate: messagesByChat, body: MESSAGES, opening: 2 },
  { name: "Responses", path: "/v1/responses", translate: responsesByChat, body: RESPONSES, opening: 4 },
] as const;

describe.each(CLIENTS)("$name", ({ path, translate, body, opening }) => {
  // A half that ends in white space is another matter: that is left out, and said again.
  const word = fc.string({ unit: "grapheme", maxLength: 4 }).map((text) => `${text.replaceAll(/\s/g, "")}.`);
  const words = fc.array(word, { minLength: 1, maxLength: 8 });

  test("wherever its engine dies, the rest is what would have come, and nothing twice", () => {
    fc.assert(
      fc.property(words, fc.nat({ max: 12 }), (texts, cut) => {
        const whole = spoken(asChat(translate, body), texts);
        const heard = whole.slice(0, Math.min(cut, opening + texts.length));
        // Nobody goes on with an item whose text is about to begin, and what is in progress already is not told to be.
        fc.pre(!["response.output_item.added", "response.created"].includes(String(typeOf(heard.at(-1) ?? ""))));
        const course = courseOf(foreign(path, translate, body));
        course.said.push(Buffer.from(heard.join("")));
        const next = course.goOn(APIS);
        expect(next).toMatchObject({ ok: true });
        if (!next.ok) return;
        const unsaid = texts.slice(Math.max(0, heard.length - opening));
        const rest = eventsIn(next.value.stream.finish(Buffer.from(chatOf(unsaid) + END)));
        expect([...heard, ...rest].map(told)).toEqual(whole.map(told));
      }),
    );
  });
});

const dataOf = (event: string): Fields =>
  fieldsOf(parseJson(new SseSplitter().push(Buffer.from(event))[0]?.data ?? ""));
const typeOf = (event: string): unknown => dataOf(event)["type"];

/** All but the counts, which tell of what each engine did. */
function told(event: string): Fields {
  const { usage, response, ...data } = dataOf(event);
  return { ...data, isCounted: usage !== undefined, response: { ...fieldsOf(response), usage: undefined } };
}
