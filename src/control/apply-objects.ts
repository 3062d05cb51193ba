import type { Alias } from "../core/alias.ts";
import type { Millis } from "../core/ids.ts";
import type { LookedModel } from "../core/model-facts.ts";
import type { Profile } from "../core/profile.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Snapshot } from "../store/store.ts";
import { aliasProblems, putAliases } from "./alias-change.ts";
import { applyInformed } from "./informed-apply.ts";
import type { AppliedProfile, Change } from "./manifest-change.ts";

/** Everything that manifests hold, by kind. */
export interface WantedObjects {
  readonly profiles: readonly Profile[];
  readonly aliases: readonly Alias[];
}

export interface AppliedObject {
  readonly kind: "Profile" | "Alias";
  readonly name: string;
  readonly outcome: AppliedProfile["outcome"];
}

interface Informed extends WantedObjects {
  readonly looked: readonly LookedModel[];
  readonly now: Millis;
}

/** All of the objects or, with every reason, none. */
export function applyObjects(
  before: Snapshot,
  { profiles, aliases, looked, now }: Informed,
): Result<Change<readonly AppliedObject[]>, readonly string[]> {
  const problems = aliasProblems(before, { profiles, aliases });
  const applied = applyInformed(before, { profiles, looked, now });
  if (!applied.ok) return err([...applied.error, ...problems]);
  if (problems.length > 0) return err(problems);
  const named = putAliases(applied.value.snapshot, aliases, now);
  return ok({
    snapshot: named.snapshot,
    events: [...applied.value.events, ...named.events],
    answer: [
      ...applied.value.answer.map((one): AppliedObject => ({ kind: "Profile", ...one })),
      ...named.answer.map((one): AppliedObject => ({ kind: "Alias", ...one })),
    ],
  });
}
