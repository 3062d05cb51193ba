import type { PickContext } from "../routing/policy.ts";
import { NO_PROMPT } from "../routing/prompt.ts";
import { type Body, withModel, withUsage } from "./ask-usage.ts";
import type { ExchangeContext } from "./context.ts";
import type { EngineEndpoint } from "./endpoints.ts";
import type { ErrorShape } from "./error-body.ts";
import type { PromptNames } from "./prompt-keys.ts";
import { Asks } from "./translate/asks.ts";
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
}

/** `model`: who answers, which is another than was asked for where an alias was; `name`: what its replicas call it. */
export function questionOf(context: ExchangeContext, asked: Asked, { upload, names, model, name }: Named): Question {
  const { endpoint, path, target } = asked;
  const { fields, spans } = upload;
  const isNamed = fields.model.kind === "name" && fields.model.name === name;
  const hidesUsage = context.asksUsage && endpoint.usageByOption && mustAskUsage(upload);
  const readsPrompt = context.policy.readsPrompt && endpoint.work === "generate";
  const prompt = readsPrompt ? names.forModel(model) : NO_PROMPT;
  const original = isNamed ? upload : withModel(upload, spans, { model: name, usage: false });
  const body = hidesUsage ? askingUsage(upload, name, isNamed) : original;
  return {
    asks: new Asks({ api: endpoint.api, path, target, asker: asked, model, original, body }),
    hidesUsage,
    needsSlot: endpoint.work !== "count",
    isStream: fields.stream && endpoint.work === "generate",
    tokens: Math.ceil(upload.bytes / BYTES_PER_TOKEN),
    pick: { prompt, holders: (key) => context.fleet.prefixes.holders(key), random: context.random },
  };
}

/** Whether counts are to be asked for that the client did not ask for. While a rest is to come it is that which must see. */
function mustAskUsage({ rest, fields }: Upload): boolean {
  if (rest === undefined) return fields.stream && !fields.includeUsage;
  rest.asksUsage = true;
  return false;
}

const askingUsage = (upload: Upload, model: string, isNamed: boolean): Body =>
  isNamed ? withUsage(upload, upload.spans) : withModel(upload, upload.spans, { model, usage: true });
