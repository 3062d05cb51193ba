import type { AdapterCall } from "../core/adapter.ts";
import type { ModelRoute } from "../core/route.ts";
import type { PickContext } from "../routing/policy.ts";
import { NO_PROMPT } from "../routing/prompt.ts";
import { withModel, withUsage } from "./ask-usage.ts";
import type { ExchangeContext } from "./context.ts";
import type { EngineEndpoint } from "./endpoints.ts";
import type { ErrorShape } from "./error-body.ts";
import type { PromptNames } from "./prompt-keys.ts";
import { Asks, type Bodies, type Called } from "./translate/asks.ts";
import type { Upload } from "./upload.ts";

/** Text in the languages that are written most has about four bytes a token. */
const BYTES_PER_TOKEN = 4;

/** A client's request as an engine gets it, and what choosing the engine needs of it. */
export interface Question {
  /** By the engine that is asked. */
  readonly asks: Asks;
  /** The engine is asked for counts that the client did not ask for. Of a body that has not ended this is not known. */
  readonly hidesUsage: boolean;
  readonly needsSlot: boolean;
  /** The client asked for events as they come. */
  readonly isStream: boolean;
  /** Tokens of the prompt, estimated. */
  readonly tokens: number;
  readonly pick: PickContext;
}

interface Asked {
  readonly endpoint: EngineEndpoint;
  readonly shape: ErrorShape;
  readonly requestId: string;
  readonly path: string;
  readonly target: string;
}

interface Named {
  readonly upload: Upload;
  readonly names: PromptNames;
  readonly model: string;
  readonly name: string;
  /** Of replicas with adapters, how each is asked, by id. */
  readonly calls: ModelRoute["calls"];
}

/** `model`: who answers, which is another than was asked for where an alias was; `name`: what its replicas call it. */
export function questionOf(
  context: ExchangeContext,
  asked: Asked,
  { upload, names, model, name, calls }: Named,
): Question {
  const { endpoint, path, target } = asked;
  const { fields } = upload;
  const hidesUsage = context.asksUsage && endpoint.usageByOption && mustAskUsage(upload);
  const readsPrompt = context.policy.readsPrompt && endpoint.work === "generate";
  const prompt = readsPrompt ? names.forModel(model) : NO_PROMPT;
  const { original, body } = bodiesFor(upload, name, hidesUsage);
  const plain = { api: endpoint.api, path, target, asker: asked, model, original, body };
  return {
    asks: new Asks(calls === undefined ? plain : { ...plain, calls, bodies: calledBodies(upload, name, hidesUsage) }),
    hidesUsage,
    needsSlot: endpoint.work !== "count",
    isStream: fields.stream && endpoint.work === "generate",
    tokens: Math.ceil(upload.bytes / BYTES_PER_TOKEN),
    pick: { prompt, holders: context.fleet.holders, random: context.random },
  };
}

/** Whether counts are to be asked for that the client did not ask for. While a rest is to come it is that which must see. */
function mustAskUsage({ rest, fields }: Upload): boolean {
  if (rest === undefined) return fields.stream && !fields.includeUsage;
  rest.asksUsage = true;
  return false;
}

/** A form has no place for what is not text; what needs it there is not asked by form. */
const calledBodies =
  (upload: Upload, name: string, hidesUsage: boolean) =>
  ({ model = name, fields }: AdapterCall): Called => ({
    ...bodiesFor(upload, model, hidesUsage),
    ...(upload.spans.isForm === true ? {} : { fields }),
  });

/** `model`: what the engine calls it. */
function bodiesFor(upload: Upload, model: string, hidesUsage: boolean): Bodies {
  const { spans, fields } = upload;
  const isNamed = fields.model.kind === "name" && fields.model.name === model;
  const original = isNamed ? upload : withModel(upload, spans, { model, usage: false });
  if (!hidesUsage) return { original, body: original };
  return { original, body: isNamed ? withUsage(upload, spans) : withModel(upload, spans, { model, usage: true }) };
}
