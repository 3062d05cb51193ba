import type { Millis } from "./ids.ts";

export type EventLevel = "info" | "warning" | "error";
export type SubjectKind = "node" | "replica" | "profile" | "alias" | "upstream" | "key" | "token" | "server";

/** Something an operator may want to know later. */
export interface NewEvent {
  readonly level: EventLevel;
  readonly subjectKind: SubjectKind;
  readonly subject: string;
  /** A short, stable word: NodeJoined, ReplicaReady, … */
  readonly reason: string;
  readonly message: string;
}

export interface ClusterEvent extends NewEvent {
  readonly id: number;
  readonly at: Millis;
}
