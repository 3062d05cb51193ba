import type { Millis } from "./ids.ts";

/** What a client may use in a time. Undefined: as much as it likes. */
export interface KeyLimits {
  readonly requestsPerMinute: number | undefined;
  /** Prompt and completion together, as the engines count them. */
  readonly tokensPerMinute: number | undefined;
  /** Requests at the same time, each until the last byte of its answer. */
  readonly concurrency: number | undefined;
  /** By the calendar, in UTC. */
  readonly tokensPerDay: number | undefined;
  readonly tokensPerMonth: number | undefined;
}

/** Those that routers divide among themselves: each may use its share without asking. */
export type SharedLimits = Pick<KeyLimits, "requestsPerMinute" | "tokensPerMinute" | "concurrency">;

export type SharedLimitName = keyof SharedLimits;

export const SHARED_LIMITS: readonly SharedLimitName[] = ["requestsPerMinute", "tokensPerMinute", "concurrency"];

/** One value for each of them. */
export const ofSharedLimits = <T>(value: (limit: SharedLimitName) => T): Readonly<Record<SharedLimitName, T>> => ({
  requestsPerMinute: value("requestsPerMinute"),
  tokensPerMinute: value("tokensPerMinute"),
  concurrency: value("concurrency"),
});

export const NO_LIMITS: KeyLimits = {
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrency: undefined,
  tokensPerDay: undefined,
  tokensPerMonth: undefined,
};

/** What a router must know of a client's key. The key itself is nowhere: only its SHA-256 is kept. */
export interface KeyGrant {
  readonly id: string;
  /** How people call it; unique among the keys that are not revoked. */
  readonly name: string;
  /** In lower-case hex, of the whole key. */
  readonly sha256: string;
  /** Names that it may ask for; empty: all. */
  readonly models: readonly string[];
  readonly limits: KeyLimits;
  readonly expiresAt: Millis | undefined;
}

/** Every key in force, whole: a key that is missing is no key any more. */
export interface KeySet {
  readonly revision: number;
  readonly keys: readonly KeyGrant[];
  /** Their limits are divided among routers: each waits to be told its share. Left out: they are whole. */
  readonly shared?: boolean;
}

/** What every key begins with, so that people and scanners for leaked secrets recognise it. */
export const KEY_PREFIX = "sk-llmgw-";

/** So much of a key may be shown: enough to recognise it by, and too little to be of use. */
export const SHOWN_KEY_LENGTH = KEY_PREFIX.length + 6;
