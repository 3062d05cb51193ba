import { type Millis, millis } from "../../core/ids.ts";

/** One instant by both clocks: minutes are measured by the one that never steps, days and months by the calendar. */
export interface Moment {
  readonly wall: Millis;
  readonly monotonic: Millis;
}

export const MINUTE: Millis = millis(60_000);
const DAY_MS = 86_400_000;

/** What has been used under a key. The router that had the requests is its only writer. */
export interface KeyUse {
  /** Requests that were admitted and have not ended. */
  readonly inFlight: number;
  /** Of the minute that is counted, by the clock that never steps. It begins with the first request after the last one. */
  readonly minuteStart: Millis;
  readonly requests: number;
  readonly tokens: number;
  /** Days since 1970 in UTC. */
  readonly day: number;
  readonly dayTokens: number;
  /** Months since the year 0 in UTC. */
  readonly month: number;
  readonly monthTokens: number;
}

export const UNUSED: KeyUse = {
  inFlight: 0,
  minuteStart: millis(Number.NEGATIVE_INFINITY),
  requests: 0,
  tokens: 0,
  day: 0,
  dayTokens: 0,
  month: 0,
  monthTokens: 0,
};

/** The same with every time that is over counted as over. */
export function current(use: KeyUse, now: Moment): KeyUse {
  const day = dayOf(now.wall);
  const isMinuteOver = now.monotonic - use.minuteStart >= MINUTE;
  if (!isMinuteOver && day === use.day) return use;
  const minute = isMinuteOver ? { minuteStart: now.monotonic, requests: 0, tokens: 0 } : {};
  if (day === use.day) return { ...use, ...minute };
  const month = monthOf(now.wall);
  return { ...use, ...minute, day, dayTokens: 0, month, monthTokens: month === use.month ? use.monthTokens : 0 };
}

/** A request has ended: its slot is free, and what it took counts now. */
export function settled(use: KeyUse, tokens: number, now: Moment): KeyUse {
  const is = current(use, now);
  return {
    ...is,
    inFlight: is.inFlight - 1,
    tokens: is.tokens + tokens,
    dayTokens: is.dayTokens + tokens,
    monthTokens: is.monthTokens + tokens,
  };
}

const dayOf = (wall: Millis): number => Math.floor(wall / DAY_MS);

function monthOf(wall: Millis): number {
  const date = new Date(wall);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

export const untilNextDay = (wall: Millis): Millis => millis((dayOf(wall) + 1) * DAY_MS - wall);

export function untilNextMonth(wall: Millis): Millis {
  const date = new Date(wall);
  return millis(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - wall);
}
