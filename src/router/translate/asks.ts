import type { AdapterCall } from "../../core/adapter.ts";
import type { EngineApi } from "../../core/engine-api.ts";
import { messageOf } from "../../core/errors.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { ReplicaRoute } from "../../core/route.ts";
import { sameValue } from "../../core/same-value.ts";
import { chatFromMessages } from "../../wire/anthropic/request.ts";
import { isAnthropicError } from "../../wire/anthropic/error.ts";
import { type Fields, isFields, parseJson } from "../../wire/json-value.ts";
import { chatFromResponses, stateObjection } from "../../wire/responses/request.ts";
import { type Body, withFields } from "../ask-usage.ts";
import type { Refusal } from "../error-body.ts";
import type { EngineAnswer, EngineAsk, Rewritten } from "./ask.ts";
import { type Foreign, messagesByChat, responsesByChat, type Translation } from "./by-chat.ts";
import { countOfChat, countOfPrompt, type CountQuestion } from "./count.ts";
import { type Asker, mendError, mendingErrors } from "./errors.ts";

interface Way {
  /** What an engine must have for it. */
  readonly needs: readonly EngineApi[];
  readonly translate: Translation;
}

/** How to ask an engine for what it has no words for; the first way that it can take. */
const WAYS: Readonly<Partial<Record<EngineApi, readonly Way[]>>> = {
  messages: [{ needs: ["chat"], translate: messagesByChat }],
  responses: [{ needs: ["chat"], translate: responsesByChat }],
  "messages-count": [
    { needs: ["tokenize-chat"], translate: (foreign) => counting(foreign, messagesCount, countOfChat) },
    { needs: ["apply-template", "tokenize"], translate: (foreign) => counting(foreign, messagesCount, countOfPrompt) },
  ],
  "responses-count": [
    { needs: ["tokenize-chat"], translate: (foreign) => counting(foreign, responsesCount, countOfChat) },
    { needs: ["apply-template", "tokenize"], translate: (foreign) => counting(foreign, responsesCount, countOfPrompt) },
  ],
};

/** Whether it could be asked in other words, for which all of it must be here. */
export const isTranslated = (api: EngineApi): boolean => WAYS[api] !== undefined;

/** What is counted, and how its client is told. */
interface Count {
  readonly chat: (foreign: Foreign) => Result<{ readonly body: Fields }, Refusal>;
  readonly answer: CountQuestion["answer"];
}

const messagesCount: Count = {
  chat: ({ body, dialect }) => chatFromMessages(body, dialect),
  answer: (tokens) => ({ input_tokens: tokens }),
};

const responsesCount: Count = {
  chat: ({ body, dialect }) => chatFromResponses(body, dialect),
  answer: (tokens) => ({ object: "response.input_tokens", input_tokens: tokens }),
};

function counting(foreign: Foreign, count: Count, ask: (question: CountQuestion) => EngineAsk) {
  const chat = count.chat(foreign);
  return chat.ok ? ok(ask({ asker: foreign.asker, chat: chat.value.body, answer: count.answer })) : chat;
}

export interface Bodies {
  /** As the client sent it. */
  readonly original: Body;
  /** As an engine gets it that has the words for it. */
  readonly body: Body;
}

/** The same for an engine with adapters. */
export interface Called extends Bodies {
  /** What is put at the end of each body, as JSON. */
  readonly fields?: AdapterCall["fields"];
}

/** What is asked, before it is known of whom. */
export interface AskedOfEngines extends Called {
  readonly api: EngineApi;
  readonly path: string;
  /** Path and query, as the client sent them. */
  readonly target: string;
  readonly asker: Asker;
  readonly model: string;
  /** Of replicas with adapters, how each is asked, by id; and the bodies for one of them. */
  readonly calls?: Readonly<Record<string, AdapterCall>>;
  readonly bodies?: (call: AdapterCall) => Called;
}

/** A client's request as each engine can be asked it. */
export class Asks {
  readonly #asked: AskedOfEngines;
  readonly #plain: EngineAsk;
  #fields: Fields | undefined;

  constructor(asked: AskedOfEngines) {
    this.#asked = asked;
    const { target, asker } = asked;
    const rewrite: EngineAsk["rewrite"] = ({ status }) => (status >= 400 ? mendingErrors(asker) : undefined);
    this.#plain = { target, body: this.#filled(asked.body), rewrite };
  }

  /** `lacks`: what the engine turned out not to have. An engine of which nothing is known is asked as the client asked. */
  to({ id, apis }: Pick<ReplicaRoute, "id" | "apis">, lacks: Set<EngineApi>): Result<EngineAsk, Refusal> {
    const { calls, bodies } = this.#asked;
    if (calls === undefined || bodies === undefined) return this.#ask(apis, lacks);
    const call = calls[id];
    // Of an engine that says less than it heeds only what it says is asked.
    const heeds = call?.apis?.filter((heeded) => apis?.includes(heeded) !== false) ?? apis;
    const ask = (call === undefined ? this : new Asks({ ...this.#asked, ...bodies(call) })).#ask(heeds, lacks);
    return ask.ok ? ok({ ...ask.value, fits: (other) => sameValue(calls[other], call) }) : ask;
  }

  #ask(apis: ReplicaRoute["apis"], lacks: Set<EngineApi>): Result<EngineAsk, Refusal> {
    const { api } = this.#asked;
    const hasIt = (apis === undefined || apis.includes(api)) && !lacks.has(api);
    if (!hasIt) return this.#translated(apis ?? ["chat"]);
    const objection = api === "responses" ? this.#stateObjection() : undefined;
    if (objection !== undefined) return err(objection);
    return ok(WAYS[api] === undefined ? this.#plain : this.#tried(apis ?? ["chat"], lacks));
  }

  /** An engine may keep its answers, but the next request can meet another one. */
  #stateObjection(): Refusal | undefined {
    const { original } = this.#asked;
    const isMentioned = KEPT.some((word) => original.chunks.some((chunk) => chunk.includes(word)));
    if (!isMentioned && original.chunks.length === 1) return undefined;
    this.#fields ??= fieldsIn(original);
    return this.#fields === undefined ? undefined : stateObjection(this.#fields);
  }

  /** Older builds of an engine have less: one that answers that there is no such path is asked in other words. */
  #tried(apis: readonly EngineApi[], lacks: Set<EngineApi>): EngineAsk {
    const { api, asker } = this.#asked;
    const read = (answer: EngineAnswer): Rewritten => {
      if (!isNoSuchPath(answer)) return mendError(answer, asker);
      const other = this.#translated(apis);
      if (!other.ok) return mendError(answer, asker);
      lacks.add(api);
      return { kind: "ask", ask: other.value };
    };
    const asChat = this.#translated.bind(this);
    return { ...this.#plain, asChat, rewrite: ({ status }) => (status >= 400 ? { kind: "whole", read } : undefined) };
  }

  #translated(apis: readonly EngineApi[]): Result<EngineAsk, Refusal> {
    const { api, path, model, asker } = this.#asked;
    const way = WAYS[api]?.find(({ needs }) => needs.every((need) => apis.includes(need)));
    if (way === undefined) {
      const message = `The model \`${model}\` is served by an engine that has no ${path}.`;
      return err({ code: "API_NOT_SERVED", message, param: "model" });
    }
    const body = (this.#fields ??= fieldsIn(this.#asked.original));
    if (body === undefined)
      return err({
        code: "BAD_REQUEST",
        message: "The body is not the JSON object it should be: a string is malformed.",
      });
    const dialect = {
      templateSettings: apis.includes("template-settings"),
      continuesWhenAsked: apis.includes("continues-when-asked"),
    };
    const ask = guarded(() => way.translate({ asker, body, dialect }));
    return ask.ok ? ok({ ...ask.value, body: this.#filled(ask.value.body) }) : ask;
  }

  #filled(body: Body): Body {
    const { fields } = this.#asked;
    return fields === undefined ? body : withFields(body, fields);
  }
}

/** A bug here is to end this request, not all that are under way. */
function guarded(translate: () => Result<EngineAsk, Refusal>): Result<EngineAsk, Refusal> {
  try {
    return translate();
  } catch (thrown) {
    return err({ code: "INTERNAL", message: `The request could not be translated: ${messageOf(thrown)}.` });
  }
}

/** Names of fields that ask for something kept. A body that has none of them need not be read. */
const KEPT = ['"previous_response_id"', '"conversation"', '"background"', '"prompt"'] as const;

/** The scanner has looked at the structure; what is inside strings comes to light only here. */
function fieldsIn({ chunks }: Body): Fields | undefined {
  const value = parseJson(Buffer.concat(chunks).toString("utf8"));
  return isFields(value) ? value : undefined;
}

/** Not that there is no such model: those who speak an API say that in its shape. */
function isNoSuchPath({ status, body }: EngineAnswer): boolean {
  if (status !== 404 && status !== 405 && status !== 501) return false;
  return !isAnthropicError(parseJson(body)) && !/model/i.test(body);
}
