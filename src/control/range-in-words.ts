import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Millis } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import { scaleWords } from "../reconcile/scale-words.ts";
import type { Snapshot } from "../store/store.ts";
import type { ReplicaRangeSchema } from "../wire/gen/llmgw/v1/admin_pb.js";
import type { Demands } from "./scaling.ts";

/** Between what a profile's load decides, and why it decides as it does; undefined: it has a number. */
export function rangeToWire(
  { name, replicas }: Profile,
  demands: Demands,
  monotonic: Millis,
): MessageInitShape<typeof ReplicaRangeSchema> | undefined {
  if (replicas.kind === "fixed") return undefined;
  const demand = demands.get(name);
  const why = demand === undefined ? "" : scaleWords(replicas, demand, monotonic);
  return { min: replicas.min, max: replicas.max, why };
}

/** A sentence for each profile that follows its load. */
export const scalingSentences = ({ profiles }: Snapshot, demands: Demands, monotonic: Millis): readonly string[] =>
  profiles.flatMap(({ profile }) => {
    const range = rangeToWire(profile, demands, monotonic);
    const wanted = demands.get(profile.name)?.wanted;
    if (range === undefined || wanted === undefined) return [];
    return [`${profile.name}: ${String(wanted)} of ${String(range.min)} to ${String(range.max)}: ${range.why ?? ""}`];
  });
