import { create } from "@bufbuild/protobuf";
import { type Millis } from "../../core/ids.ts";
import { specHash } from "../../core/profile.ts";
import { type Replica, REPLICA_TRAITS } from "../../core/replica-state.ts";
import { judgeRollout, type RolloutVerdict } from "../../reconcile/judge-rollout.ts";
import type { StoredProfile } from "../../store/store.ts";
import {
  type GetRolloutRequest,
  type GetRolloutResponse,
  GetRolloutResponseSchema,
  type UndoRolloutRequest,
  type UndoRolloutResponse,
  UndoRolloutResponseSchema,
} from "../../wire/gen/llmgw/v1/changing_pb.js";
import { toText, toTimestamp } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";
import { hiddenManifest } from "../hide-secrets.ts";
import { type Demands, toBeProven, wantedOf } from "../scaling.ts";
import { undoRollout } from "../replica-change.ts";
import { refusalError, unknownName } from "./refusal.ts";

export function getRollout({ loop, clock }: ControlPlane, { profile: name }: GetRolloutRequest): GetRolloutResponse {
  const { profiles, replicas } = loop.snapshot;
  const stored = profiles.find(({ profile }) => profile.name === name);
  if (stored === undefined) {
    const known = profiles.map(({ profile }) => profile.name);
    throw unknownName("profile", name, known);
  }
  const own = replicas.filter(({ profile }) => profile === name);
  return rolloutOf(stored, own, { now: clock.now(), demands: loop.demands });
}

function rolloutOf(
  { profile, revisions }: StoredProfile,
  replicas: readonly Replica[],
  { now, demands }: { readonly now: Millis; readonly demands: Demands },
) {
  const hash = specHash(profile);
  const counting = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  const isUpdated = (replica: Replica): boolean => replica.specHash === hash && replica.replace === undefined;
  const updated = counting.filter(isUpdated);
  const ready = updated.filter(({ state }) => state.kind === "ready").length;
  const old = counting.length - updated.length;
  const wanted = wantedOf(profile, demands);
  const proven = toBeProven(profile, demands);
  const judged: RolloutVerdict = proven === undefined ? { kind: "underway" } : judgeRollout(proven, replicas, now);
  const isProven = proven === undefined && revisions.at(-1)?.outcome === "ready";
  const complete = isProven || judged.kind === "complete";
  const verdict: RolloutVerdict = complete ? { kind: old > 0 ? "underway" : "complete" } : judged;
  return create(GetRolloutResponseSchema, {
    profile: profile.name,
    state: verdict.kind,
    sentence: toText(sentenceOf(verdict, { ready, wanted, old, number: revisions.at(-1)?.number ?? 0 })),
    updated: updated.length,
    ready,
    old,
    wanted,
    revisions: revisions.map(({ number, at, origin, outcome, why, manifest }) => ({
      number,
      at: toTimestamp(at),
      origin,
      outcome,
      why: toText(why),
      manifest: hiddenManifest(manifest),
    })),
  });
}

interface Counts {
  readonly ready: number;
  readonly wanted: number;
  readonly old: number;
  readonly number: number;
}

function sentenceOf(verdict: RolloutVerdict, { ready, wanted, old, number }: Counts): string {
  const counts = `${String(ready)} of ${String(wanted)} replicas of revision ${String(number)} are ready`;
  const rest = old === 0 ? "" : `; ${String(old)} old ${old === 1 ? "one is" : "ones are"} still to be replaced`;
  if (verdict.kind === "complete") return `revision ${String(number)} is rolled out: ${counts}`;
  return verdict.kind === "broken" ? `${counts}${rest}; ${verdict.why}` : `${counts}${rest}`;
}

export async function undoLastRollout(
  { loop, clock }: ControlPlane,
  { profile, revision }: UndoRolloutRequest,
): Promise<UndoRolloutResponse> {
  const wish = { revision: revision === 0 ? undefined : revision, now: clock.now() };
  const done = await loop.change((snapshot) => undoRollout(snapshot, profile, wish));
  if (!done.ok) throw refusalError(done.error);
  return create(UndoRolloutResponseSchema, { revision: done.value });
}
