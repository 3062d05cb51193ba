import { pickTarget } from "../routing/alias.ts";
import { hashText, mix } from "../routing/hash.ts";
import { mayTry } from "../routing/health.ts";
import type { ExchangeContext } from "./context.ts";
import type { Fleet, Model } from "./fleet.ts";
import type { PromptNames } from "./prompt-keys.ts";

/** Hashes have 32 bits. */
const HASHES = 2 ** 32;

/** Who answers a request for the model: itself, or one of those that an alias stands for. Undefined: none of these is served. */
export function answeringModel(
  context: Pick<ExchangeContext, "fleet" | "clock" | "random">,
  asked: Model,
  names: Pick<PromptNames, "conversation">,
): Model | undefined {
  const { alias } = asked.route;
  if (alias === undefined) return asked;
  const { fleet } = context;
  // A conversation stays with the model that it began with; under another alias that may be another.
  const { conversation } = names;
  const spread = conversation === undefined ? context.random() : mix(conversation, hashText(asked.name)) / HASHES;
  const picked = pickTarget(alias, (name) => canAnswer(fleet, name, context), spread);
  return picked === undefined ? undefined : fleet.model(picked);
}

/** It has a replica that is not set aside, or one comes when it is asked for. */
function canAnswer(fleet: Fleet, name: string, { clock }: Pick<ExchangeContext, "clock">): boolean {
  const model = fleet.model(name);
  if (model === undefined) return false;
  const now = clock.monotonic();
  return model.route.holds === true || model.replicas.some(({ health }) => mayTry(health, now));
}
