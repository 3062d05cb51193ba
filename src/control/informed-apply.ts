import type { Millis } from "../core/ids.ts";
import type { LookedModel } from "../core/model-facts.ts";
import { type Profile, specHash } from "../core/profile.ts";
import { err, ok, type Result } from "../core/result.ts";
import { needsAt, whyNeverSplit } from "../engines/known-model.ts";
import type { KnownModel } from "../engines/weights/needs.ts";
import { whyNeverFits } from "../scheduler/never-fits.ts";
import type { Snapshot } from "../store/store.ts";
import type { ControlPlane } from "./control-plane.ts";
import { type AppliedProfile, applyProfiles, type Change } from "./manifest-change.ts";
import { knownModels, knownOf, unknownTo, withLooked } from "./model-needs.ts";

/** As long as a person likes to wait for an answer that is only good to have. */
const LOOK_FOR_MS = 5_000;
/** Of one manifest. Models beyond are placed by default until a node holds them. */
const MOST_LOOKS = 16;

/** Asks the sources of models that no node holds; those that said all they could are not asked again. */
export async function lookAtUnknown(
  { loop, lookAtModel }: Pick<ControlPlane, "loop" | "lookAtModel">,
  profiles: readonly Profile[],
): Promise<readonly LookedModel[]> {
  const signal = AbortSignal.timeout(LOOK_FOR_MS);
  const wanted = unknownTo(loop.snapshot, profiles).slice(0, MOST_LOOKS);
  return await Promise.all(wanted.map((profile) => lookAtModel(profile, signal)));
}

interface Informed {
  readonly profiles: readonly Profile[];
  readonly looked: readonly LookedModel[];
  readonly now: Millis;
}

/** All of the profiles or, with every reason, none: also what their models' own headers and the nodes' sizes rule out. */
export function applyInformed(
  before: Snapshot,
  { profiles, looked, now }: Informed,
): Result<Change<readonly AppliedProfile[]>, readonly string[]> {
  const known = knownModels({ nodes: before.nodes, models: [...before.models, ...looked] });
  const impossible = profiles.flatMap((profile) => {
    const model = knownOf(profile, known);
    const why = whyNeverSplit(profile, model);
    return why === undefined ? tooLarge(before, profile, model) : [why];
  });
  const applied = applyProfiles(before, profiles, now);
  if (!applied.ok) return err([...applied.error, ...impossible]);
  if (impossible.length > 0) return err(impossible);
  return ok({ ...applied.value, snapshot: withLooked(applied.value.snapshot, looked) });
}

/** Of a profile that wants replicas. A form of which there are some already may be applied again, whatever became of the nodes. */
function tooLarge({ profiles, nodes }: Snapshot, profile: Profile, model: KnownModel): readonly string[] {
  const { name } = profile;
  const was = profiles.find((stored) => stored.profile.name === name)?.profile;
  const isNew = was === undefined || isAsleep(was) || specHash(was) !== specHash(profile);
  if (!isNew || isAsleep(profile)) return [];
  const why = whyNeverFits(profile, needsAt(profile, model), nodes);
  return why === undefined ? [] : [`${name}: ${why}`];
}

const isAsleep = ({ replicas }: Profile): boolean => replicas.kind === "fixed" && replicas.count === 0;
