import type { Millis } from "../core/ids.ts";
import type { LookedModel } from "../core/model-facts.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Snapshot } from "../store/store.ts";
import { putAliases } from "./alias-change.ts";
import { applyInformed } from "./informed-apply.ts";
import type { AppliedProfile, Change } from "./manifest-change.ts";
import { nameClashes } from "./name-clashes.ts";
import { type NamedObjects, namedWith } from "./named-objects.ts";
import { putUpstreams } from "./upstreams/change.ts";

export interface AppliedObject {
  readonly kind: "Profile" | "Alias" | "Upstream";
  readonly name: string;
  readonly outcome: AppliedProfile["outcome"];
}

interface Informed extends NamedObjects {
  readonly looked: readonly LookedModel[];
  readonly now: Millis;
}

/** All of the objects or, with every reason, none. */
export function applyObjects(
  before: Snapshot,
  { looked, now, ...wanted }: Informed,
): Result<Change<readonly AppliedObject[]>, readonly string[]> {
  const problems = nameClashes(namedWith(before, wanted));
  const applied = applyInformed(before, { profiles: wanted.profiles, looked, now });
  if (!applied.ok) return err([...applied.error, ...problems]);
  if (problems.length > 0) return err(problems);
  const named = putAliases(applied.value.snapshot, wanted.aliases, now);
  const beyond = putUpstreams(named.snapshot, wanted.upstreams, now);
  return ok({
    snapshot: beyond.snapshot,
    events: [...applied.value.events, ...named.events, ...beyond.events],
    answer: [
      ...applied.value.answer.map((one): AppliedObject => ({ kind: "Profile", ...one })),
      ...named.answer.map((one): AppliedObject => ({ kind: "Alias", ...one })),
      ...beyond.answer.map((one): AppliedObject => ({ kind: "Upstream", ...one })),
    ],
  });
}
