import type { Millis } from "./ids.ts";

/** What a request took, in tokens. */
export interface TokenUse {
  /** All of the prompt, cached tokens included. */
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  /** The engine had not said its counts: these are made from what was sent. */
  readonly estimated: boolean;
}

export const NO_TOKENS: TokenUse = { prompt: 0, cached: 0, completion: 0, estimated: false };

/** One sending of a request to a replica. */
export interface Attempt {
  readonly replica: string;
  /** That the model had, and those of them that could take the request. */
  readonly replicas: number;
  readonly candidates: number;
  /** At the chosen one, without this request. */
  readonly inFlight: number;
  /** Why this one, in words. */
  readonly why: string;
  /** What went wrong with it; "" for nothing. */
  readonly failure: string;
  /** After the request's first byte. */
  readonly at: Millis;
}

/** One request from its first byte to its end, as its router knows it. Never its content. */
export interface UsageRecord {
  /** Counts up from 1 in each router process: with the process it names the record. Request ids are the clients' to choose. */
  readonly number: number;
  /** Counts up with each request that begins in the process: it names one that has not ended. */
  readonly opened: number;
  readonly requestId: string;
  /** "" where no keys are asked for. */
  readonly keyId: string;
  readonly keyName: string;
  /** "": it named none that is served. */
  readonly model: string;
  readonly profile: string;
  readonly replica: string;
  readonly path: string;
  readonly stream: boolean;
  /** The status sent, unless a stream broke after it or the client left. */
  readonly code: number;
  /** complete, or what went wrong. */
  readonly outcome: string;
  readonly detail: string;
  /** By the wall clock. */
  readonly endedAt: Millis;
  readonly duration: Millis;
  /** Undefined: no stream, or none that began. */
  readonly firstToken: Millis | undefined;
  /** In the queue for an engine's slot. */
  readonly waited: Millis;
  readonly attempts: number;
  readonly tries: readonly Attempt[];
  /** An engine worked on it. */
  readonly served: boolean;
  readonly tokens: TokenUse;
}

/** What has been counted under a key, over all routers: the latest day and month that something was. */
export interface KeyTotal {
  readonly keyId: string;
  readonly day: number;
  readonly dayTokens: number;
  readonly month: number;
  readonly monthTokens: number;
}

const DAY_MS = 86_400_000;

/** Days since 1970 in UTC. */
export const dayOf = (wall: Millis): number => Math.floor(wall / DAY_MS);

/** The month of the day that was asked for last: the calendar is slow, and all ask for today's. */
let known = { day: Number.NaN, month: 0 };

/** Months since the year 0 in UTC. */
export function monthOf(wall: Millis): number {
  const day = dayOf(wall);
  if (day !== known.day) {
    const date = new Date(wall);
    known = { day, month: date.getUTCFullYear() * 12 + date.getUTCMonth() };
  }
  return known.month;
}

export const monthOfDay = (day: number): number => monthOf((day * DAY_MS) as Millis);

/** The first day of a month. */
export const firstDayOf = (month: number): number => Date.UTC(Math.floor(month / 12), month % 12) / DAY_MS;

/** As people write it: "2026-10-17". */
export const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** Undefined: that is no day of the calendar. */
export function dayFromText(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(ms)) return undefined;
  const day = ms / DAY_MS;
  return dayText(day) === text ? day : undefined;
}

export const untilNextDay = (wall: Millis): Millis => ((dayOf(wall) + 1) * DAY_MS - wall) as Millis;

export const untilNextMonth = (wall: Millis): Millis => (firstDayOf(monthOf(wall) + 1) * DAY_MS - wall) as Millis;
