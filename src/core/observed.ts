import type { RankReport } from "./gang.ts";
import type { ProfileName, ReplicaId } from "./ids.ts";
import type { MeasuredMemory } from "./measured-memory.ts";
import type { Endpoint, Progress } from "./replica-state.ts";

/** What a node says of one replica. */
export type ObservedReplicaState =
  | { readonly kind: "preparing"; readonly progress: Progress | undefined }
  | { readonly kind: "starting"; readonly note: string }
  | {
      readonly kind: "ready";
      readonly endpoint: Endpoint;
      readonly slots: number;
      readonly context: number;
      readonly engine: string;
    }
  /** `note`: what its end waits for, where that is something to know. */
  | { readonly kind: "stopping"; readonly note?: string }
  | { readonly kind: "stopped" }
  | { readonly kind: "failed"; readonly reason: string; readonly lastLines: readonly string[] };

export interface ObservedReplica {
  readonly id: ReplicaId;
  readonly profile: ProfileName;
  readonly specHash: string;
  readonly state: ObservedReplicaState;
  readonly restarts: number;
  readonly pid: number | undefined;
  /** Of a rank of a replica that spans nodes. */
  readonly rank?: RankReport;
  /** Of one that has been ready for a while. Left out: it was not measured. */
  readonly memory?: MeasuredMemory;
}

export interface ObservedState {
  /** The desired revision that the node acts on; 0 before it has seen one. */
  readonly revision: number;
  readonly replicas: readonly ObservedReplica[];
}
