import type { EngineApi } from "../../core/engine-api.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { fieldsOf, listOf, parseJson } from "../../wire/json-value.ts";
import type { EngineAsk } from "../translate/ask.ts";
import { EventsFilter } from "../translate/events-filter.ts";
import { ChatReader } from "./chat-reader.ts";
import { ContinuedStream } from "./continued-stream.ts";
import { goingOn } from "./going-on.ts";
import { MessagesReader } from "./messages-reader.ts";
import { ResponsesReader } from "./responses-reader.ts";
import { Said } from "./said.ts";

/** Makes an engine's stream the rest of the client's, in whole events. */
export type RestStream = Pick<ContinuedStream, "push" | "finish">;

interface Onward {
  /** How another engine is asked for the rest; where nothing is left to be said, how one would have been. */
  readonly ask: EngineAsk;
  readonly isWhole: boolean;
  readonly stream: RestStream;
}

/** One stream, and how it goes on. */
export interface Course {
  readonly said: Said;
  /** At an engine that has those; or why it does not. */
  goOn(apis: readonly EngineApi[]): Result<Onward, string>;
}

/** Messages and Responses, by the path where engines have them. */
const READERS: Readonly<Record<string, () => MessagesReader | ResponsesReader>> = {
  "/v1/messages": () => new MessagesReader(),
  "/v1/responses": () => new ResponsesReader(),
};

export function courseOf(ask: EngineAsk): Course {
  const reader = READERS[ask.target.split("?", 1)[0] ?? ""]?.();
  return reader === undefined ? chatCourse(ask) : foreignCourse(ask, reader);
}

function chatCourse(ask: EngineAsk): Course {
  const reader = new ChatReader();
  const said = new Said(reader);
  const goOn: Course["goOn"] = (apis) => {
    const next = goingOn(ask.body, said, apis);
    if (!next.ok) return next;
    const { body = ask.body } = next.value;
    const stream = new ContinuedStream(reader, next.value);
    return ok({ ask: { ...ask, body }, isWhole: next.value.body === undefined, stream });
  };
  return { said, goOn };
}

/** Engines go on with half an answer of a chat alone: the rest is asked as chat, and said in the client's words. */
function foreignCourse(ask: EngineAsk, reader: MessagesReader | ResponsesReader): Course {
  const said = new Said(reader);
  const goOn: Course["goOn"] = (apis) => {
    const chat = asChat(ask, apis);
    if (!chat.ok) return chat;
    const begun = reader.begun(said.text());
    if (!begun.ok) return begun;
    const next = goingOn(chat.value.body, said, apis);
    if (!next.ok) return next;
    const rewrite = chat.value.rewrite({ status: 200, isStream: true, begun: begun.value });
    if (rewrite?.kind !== "events") return err(NOT_AS_CHAT);
    const { body = chat.value.body } = next.value;
    const rest = new ContinuedStream({ first: undefined, roles: new Set() }, next.value);
    const stream = translated(rest, new EventsFilter(rewrite));
    return ok({ ask: { ...chat.value, body }, isWhole: next.value.body === undefined, stream });
  };
  return { said, goOn };
}

const NOT_AS_CHAT = "it cannot be asked as chat";
/** Chat says how that is taken; what such an engine makes of it in other words is not known. */
const OWN_BEGINNING = "the client's own beginning of it may have been taken for a turn of its own";

function asChat(ask: EngineAsk, apis: readonly EngineApi[]): Result<EngineAsk, string> {
  const chat = ask.asChat?.(apis);
  if (chat?.ok !== true) return err(chat?.error.message ?? NOT_AS_CHAT);
  const isAsked = apis.includes("continues-when-asked");
  return isAsked && isBegunByClient(chat.value) ? err(OWN_BEGINNING) : chat;
}

function isBegunByClient({ body }: EngineAsk): boolean {
  const { messages } = fieldsOf(parseJson(Buffer.concat(body.chunks).toString("utf8")));
  return fieldsOf(listOf(messages).at(-1))["role"] === "assistant";
}

const translated = (rest: RestStream, filter: EventsFilter): RestStream => ({
  push: (bytes) => {
    const events = rest.push(bytes);
    return events === undefined ? undefined : filter.push(events);
  },
  finish: (last) => filter.finish(rest.finish(last)),
});
