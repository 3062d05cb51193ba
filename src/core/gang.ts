import { type Millis, millis, type NodeId } from "./ids.ts";

/** What the ranks of a gang are to do. Within one attempt it only goes on, never back. */
export type GangOrder =
  /** Get the engine and the weights, and say so. */
  | "prepare"
  /** Try the way to each other. */
  | "check"
  /** Start the engine. */
  | "run";

/** Where one rank is met. */
export interface GangMember {
  readonly node: NodeId;
  /** Its management address. */
  readonly address: string;
  /** A port that is free there and that its agent keeps for this. The engines meet on the head's. */
  readonly port: number;
}

/** A node's rank of a replica that spans nodes, as it is told. */
export interface GangTask {
  /** 0 is the head. */
  readonly rank: number;
  readonly ranks: number;
  readonly fabric: string;
  /** Grows each time all ranks have to begin again. An engine of another attempt is ended; no attempt is started twice. */
  readonly attempt: number;
  readonly order: GangOrder;
  /** In the order of ranks; empty while the order is to prepare. */
  readonly members: readonly GangMember[];
}

/** What a node found out about the way to another rank. */
export interface PeerFinding {
  readonly peer: number;
  /** "" when it is as it should be. */
  readonly problem: string;
  /** By how much the peer's clock is ahead of the node's own, in milliseconds. */
  readonly clockAhead: number;
}

/** What a rank has made ready. */
export interface RankPreparation {
  /** Name and version, such as "vllm 0.33.0". */
  readonly engine: string;
  /** Of the names and sizes of the model's files: equal on nodes that hold the same revision. */
  readonly weights: string;
  /** Of the files' contents; "" not known, such as of files that were placed by hand. */
  readonly digest: string;
  readonly address: string;
  readonly port: number;
}

/** What a node reports of its rank beside the replica's state. */
export interface RankReport {
  readonly rank: number;
  /** The attempt that it acts on. */
  readonly attempt: number;
  /** Undefined: not yet. */
  readonly prepared: RankPreparation | undefined;
  /** Undefined: not checked in this attempt. */
  readonly findings: readonly PeerFinding[] | undefined;
  /** Its engine was started in this attempt. */
  readonly launched: boolean;
  /** When its part ended for good in this attempt, by the node's clock; undefined: it has not. */
  readonly endedAt: Millis | undefined;
  /** Whether the same start could go better next time. */
  readonly retry: boolean;
  /** By its own words it ended because another rank did: the cause is that one's. */
  readonly blamesOthers: boolean;
}

/** What the nodes of a gang found out about each other before it was started. */
export interface GangCheck {
  readonly attempt: number;
  readonly at: Millis;
  /** Sentences without their full stops; empty: the gang may start. */
  readonly problems: readonly string[];
  /** The clocks' largest distance, in milliseconds. */
  readonly clockSpread: number;
}

export type RankState =
  /** Nothing was heard of it yet. */
  | "waiting"
  | "unreachable"
  | "preparing"
  /** It has engine and weights, and waits for the others. */
  | "prepared"
  | "checked"
  | "starting"
  /** Its process runs; of the head: and answers. */
  | "running"
  /** A process of an earlier attempt is being ended. */
  | "stopping"
  | "ended";

/** One rank, as it is shown. */
export interface RankStatus {
  readonly rank: number;
  readonly node: NodeId;
  readonly state: RankState;
  /** What it waits for or why it ended; "" when there is nothing to say. */
  readonly note: string;
  readonly pid: number | undefined;
}

/** The rank whose end explains the others', as far as is known by now: they may end, and be heard of, before it. */
export interface GangEnding {
  /** When the control plane heard of the first. */
  readonly since: Millis;
  /** How long the gang had been ready by then; undefined: it was not. */
  readonly served: Millis | undefined;
  readonly rank: number;
  /** By the head's clock; what is not known is later than all else. */
  readonly at: number;
  readonly reason: string;
  readonly lastLines: readonly string[];
  readonly retry: boolean;
  /** As the rank reports it. */
  readonly blamesOthers: boolean;
}

/** How a gang's present attempt stands. Its only writer is the control plane's loop. */
export interface Gang {
  readonly attempt: number;
  readonly order: GangOrder;
  readonly members: readonly GangMember[];
  /** Attempts in a row that never served for long. */
  readonly failures: number;
  /** Not to be checked or started before then. */
  readonly retryAt: Millis;
  /** Set once a rank has ended, until the attempt is over. */
  readonly ending: GangEnding | undefined;
  /** Why the last attempt ended; "" before any did. */
  readonly lastEnd: string;
  /** Of the present attempt, or of the last one that got so far. */
  readonly check: GangCheck | undefined;
  readonly ranks: readonly RankStatus[];
}

/** Of a replica that was just placed. */
export const NEW_GANG: Gang = {
  attempt: 1,
  order: "prepare",
  members: [],
  failures: 0,
  retryAt: millis(0),
  ending: undefined,
  lastEnd: "",
  check: undefined,
  ranks: [],
};
