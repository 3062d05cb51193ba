import type { Millis } from "../core/ids.ts";
import type { KeyTotal, UsageRecord } from "../core/usage.ts";

/** Records of one router process, in the order of their numbers. */
export interface UsageBatch {
  readonly instance: string;
  readonly records: readonly UsageRecord[];
}

export interface Added {
  /** Every record of the process up to this number is counted. */
  readonly through: number;
  /** Of the keys that are new in the batch, with it. */
  readonly totals: readonly KeyTotal[];
}

export type UsageGroup = "key" | "model" | "day";

export interface UsageQuery {
  /** In this order. Empty: everything in one row. */
  readonly by: readonly UsageGroup[];
  /** Days since 1970, both included; undefined: all that is kept. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly keyIds: readonly string[] | undefined;
  readonly model: string | undefined;
}

/** A sum. What rows are not grouped by is undefined. */
export interface UsageSum {
  readonly keyId: string | undefined;
  readonly keyName: string | undefined;
  readonly model: string | undefined;
  readonly day: number | undefined;
  readonly requests: number;
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  /** Requests whose tokens are an estimate. */
  readonly estimated: number;
}

export interface KeptRequest {
  /** The router process that had it. */
  readonly instance: string;
  readonly record: UsageRecord;
}

/** What is remembered of requests. It is apart from the snapshot: nothing that the control loop decides depends on it. */
export interface UsageStore {
  /** Counts what has not been counted. When it resolves, that survives a kill and a power cut. */
  add(batch: UsageBatch, now: Millis): Promise<Added>;
  sums(query: UsageQuery): Promise<readonly UsageSum[]>;
  /** Of every key that has used anything on this day or in its month. */
  totals(day: number): Promise<readonly KeyTotal[]>;
  /** Among the last requests those with this id, the latest first. */
  requests(requestId: string): Promise<readonly KeptRequest[]>;
  /** A router process is here, or is proven to have ended. */
  noteRouter(instance: string, state: "here" | "ended", now: Millis): Promise<void>;
  /** Router processes that were here at this moment or later and are not proven to have ended. */
  routers(since: Millis): Promise<readonly string[]>;
  /** Drops days before this one, and what else has become too old or too much. */
  prune(beforeDay: number, now: Millis): Promise<void>;
}
