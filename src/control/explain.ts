import { create } from "@bufbuild/protobuf";
import { adaptersOf } from "../core/adapter.ts";
import type { Millis, NodeId } from "../core/ids.ts";
import type { MemoryEstimate, ModelNeeds } from "../core/memory-estimate.ts";
import type { Profile } from "../core/profile.ts";
import { type Replica, REPLICA_TRAITS, sharesOf } from "../core/replica-state.ts";
import { askOf, type EngineOffer } from "../scheduler/ask.ts";
import { explain, type NodeAnswer } from "../scheduler/explain.ts";
import { bookedBy } from "../scheduler/measured.ts";
import { nodeViews } from "../scheduler/node-view.ts";
import { DEFAULT_POLICY } from "../scheduler/policies.ts";
import { remedyInWords } from "../scheduler/remedy.ts";
import type { Snapshot } from "../store/store.ts";
import { type ExplainResponse, ExplainResponseSchema } from "../wire/gen/llmgw/v1/admin_pb.js";
import { measurementToWire, nodeMemoryToWire } from "../wire/measured-memory.ts";
import { estimateToWire } from "../wire/model-facts.ts";
import type { Estimated } from "../wire/replica.ts";
import { replicaReason } from "../wire/replica-reason.ts";
import { toText } from "../wire/scalar.ts";
import { specKey, specsByKey } from "./changes.ts";
import { fetchesOf, knownModels, needsOf } from "./model-needs.ts";
import { rangeToWire } from "./range-in-words.ts";
import { type Demands, wantedOf } from "./scaling.ts";

/** What is asked about: a profile, whose next replica is meant, or one replica as it was made. */
interface Subject {
  readonly spec: Profile;
  readonly replica: Replica | undefined;
}

/** What is known beside the snapshot. */
interface Known {
  readonly offer: EngineOffer;
  readonly inFlight: (id: Replica["id"]) => number;
  readonly demands: Demands;
  readonly monotonic: Millis;
}

/** Undefined: nothing has that name. */
export function explainName(
  snapshot: Snapshot,
  name: string,
  { offer, inFlight, demands, monotonic }: Known,
): ExplainResponse | undefined {
  const subject = subjectOf(snapshot, name);
  if (subject === undefined) return undefined;
  const { spec, replica } = subject;
  const ask = askOf(spec, needsOf(snapshot)(spec), offer);
  const { needs } = ask;
  const range = rangeToWire(spec, demands, monotonic);
  const answers = explain(ask, nodeViews(snapshot.nodes, snapshot.replicas, fetchesOf(snapshot)), DEFAULT_POLICY);
  return create(ExplainResponseSchema, {
    profile: spec.name,
    replica: replica?.id ?? "",
    state: replica?.state.kind ?? "",
    reason: replica === undefined ? "" : toText(replicaReason(replica.state, inFlight(replica.id))),
    source: toText(spec.model.source),
    basis: needs.basis,
    origin: toText(needs.origin),
    onCpu: estimateToWire(needs.onCpu),
    onGpus: needs.onGpus.map(estimateToWire),
    kvPerToken: needs.kvPerToken,
    measured: measuredToWire(needs),
    taken: takenToWire(replica),
    adapters: adaptersToWire(spec, snapshot),
    nodes: answers.map((answer) => nodeToWire(answer, homesOf(replica))),
    ...(range === undefined ? {} : { range, wanted: wantedOf(spec, demands) }),
  });
}

const measuredToWire = (needs: ModelNeeds) =>
  (needs.measured ?? []).map((one) => measurementToWire(one, bookedBy(one, needs)));

function adaptersToWire(spec: Profile, snapshot: Snapshot) {
  const known = knownModels(snapshot);
  return adaptersOf(spec).map(({ name, source }) => ({
    name: toText(name),
    source: toText(source),
    bytes: known(source).weights ?? 0,
  }));
}

const takenToWire = (replica: Replica | undefined) => (replica?.measured ?? []).map(nodeMemoryToWire);

/** An adapter is where the model is that it is loaded with. */
function subjectOf(snapshot: Snapshot, name: string): Subject | undefined {
  const { profiles } = snapshot;
  const stored = profiles.find(({ profile }) => profile.name === name);
  if (stored !== undefined) return { spec: stored.profile, replica: undefined };
  const replica = snapshot.replicas.find(({ id }) => id === name);
  const spec =
    replica === undefined
      ? profiles.find(({ profile }) => Object.hasOwn(profile.adapters, name))?.profile
      : specsByKey(snapshot).get(specKey(replica));
  return spec === undefined ? undefined : { spec, replica };
}

const homesOf = (replica: Replica | undefined): readonly NodeId[] =>
  replica !== undefined && REPLICA_TRAITS[replica.state.kind].holdsResources
    ? sharesOf(replica.placement).map(({ node }) => node)
    : [];

const nodeToWire = ({ node, refusals, score }: NodeAnswer, homes: readonly NodeId[]) => ({
  node,
  here: homes.includes(node),
  refusals: refusals.map(({ filter, reason, remedies }) => ({
    rule: filter,
    reason: toText(reason),
    changes: remedies.map(remedyInWords).map(toText),
  })),
  score: score ?? 0,
});

/** What each replica was estimated to take where it is; of one without a place, on as little as it could do with. */
export function estimatesOf(snapshot: Snapshot): (replica: Replica) => Estimated | undefined {
  const specs = specsByKey(snapshot);
  const needs = needsOf(snapshot);
  const found = new Map<Profile, ModelNeeds>();
  return (replica) => {
    const spec = specs.get(specKey(replica));
    if (spec === undefined) return undefined;
    // All replicas of a profile are made of one.
    const known = found.get(spec) ?? needs(spec)(spec.context);
    found.set(spec, known);
    const { onCpu, onGpus, origin } = known;
    const gpus = sharesOf(replica.placement).reduce((sum, share) => sum + share.gpus.length, 0);
    const estimate: MemoryEstimate = gpus === 0 ? onCpu : (onGpus.find((each) => each.gpus === gpus) ?? onGpus[0]);
    return { estimate, origin };
  };
}
