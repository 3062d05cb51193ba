import { pickTarget } from "../routing/alias.ts";
import { hashText, mix } from "../routing/hash.ts";
import { mayTry } from "../routing/health.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import type { Model } from "./fleet.ts";
import { PromptNames } from "./prompt-keys.ts";
import { type Question, questionOf } from "./question.ts";
import type { Upload } from "./upload.ts";

/** Hashes have 32 bits. */
const HASHES = 2 ** 32;

/** A model, and the request as its engines are asked it. */
export interface Turn {
  readonly model: Model;
  readonly question: Question;
}

/** Who answers a request: the model that was asked for, or one after another those that an alias stands for. */
export class Answering {
  readonly #context: ExchangeContext;
  readonly #request: ExchangeRequest;
  readonly #asked: Model;
  readonly #upload: Upload;
  readonly #names: PromptNames;
  /** Those that turned out not to answer this request. */
  readonly #failed: string[] = [];
  #spread: number | undefined;

  constructor(
    context: ExchangeContext,
    request: ExchangeRequest,
    { asked, upload }: { readonly asked: Model; readonly upload: Upload },
  ) {
    this.#context = context;
    this.#request = request;
    this.#asked = asked;
    this.#upload = upload;
    this.#names = new PromptNames(request.req, upload);
  }

  /** Undefined: none of those that the alias stands for is served. */
  first(): Turn | undefined {
    return this.#turn(this.#asked.route.alias === undefined ? this.#asked : this.#picked());
  }

  /** Whether another could be asked in the place of the model. */
  hasOther(model: Model): boolean {
    return this.#asked.route.alias !== undefined && this.#able([...this.#failed, model.name]) !== undefined;
  }

  /** Who is asked next, after the model could not answer; undefined: nobody that can. */
  instead(model: Model): Turn | undefined {
    this.#failed.push(model.name);
    return this.#turn(this.#able(this.#failed));
  }

  #turn(model: Model | undefined): Turn | undefined {
    if (model === undefined) return undefined;
    const named = { model: model.name, name: model.route.engineModel ?? model.name };
    const asked = { upload: this.#upload, names: this.#names, ...named, calls: model.route.calls };
    return { model, question: questionOf(this.#context, this.#request, asked) };
  }

  #able(failed: readonly string[]): Model | undefined {
    const picked = this.#picked(failed);
    return picked === undefined || !this.#canAnswer(picked.name, failed) ? undefined : picked;
  }

  #picked(failed: readonly string[] = []): Model | undefined {
    const { alias } = this.#asked.route;
    const picked = alias && pickTarget(alias, (name) => this.#canAnswer(name, failed), this.#share());
    return picked === undefined ? undefined : this.#context.fleet.model(picked);
  }

  /** A conversation stays with the model that it began with; under another alias that may be another. */
  #share(): number {
    const { conversation } = this.#names;
    const { random } = this.#context;
    this.#spread ??= conversation === undefined ? random() : mix(conversation, hashText(this.#asked.name)) / HASHES;
    return this.#spread;
  }

  /** It has a replica that is not set aside, or one comes when it is asked for. */
  #canAnswer(name: string, failed: readonly string[]): boolean {
    const model = this.#context.fleet.model(name);
    if (model === undefined || failed.includes(name)) return false;
    const now = this.#context.clock.monotonic();
    return model.route.holds === true || model.replicas.some(({ health }) => mayTry(health, now));
  }
}
