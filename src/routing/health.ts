import { assertNever } from "../core/result.ts";
import { type Millis, millis, plus } from "../core/ids.ts";

/** Why a replica was set aside, which is also what must happen before it is trusted again. */
type AsideCause = "unreachable" | "silent" | "breaking";

/** What a router thinks of a replica from its own requests. Only the router that had the requests moves it. */
export type Health =
  | { readonly kind: "good"; readonly strikes: number }
  | {
      readonly kind: "aside";
      readonly cause: AsideCause;
      readonly until: Millis;
      readonly times: number;
      /** A request is finding out whether it is back. */
      readonly isTested: boolean;
    };

export type HealthEvent =
  /** A connection was made. */
  | "connected"
  /** A whole, well-formed response head came. */
  | "answered"
  /** No connection could be made. */
  | "refused"
  /** Connected, and no answer within the limit. */
  | "timedOut"
  /** The connection broke, or what came was not HTTP, or the engine said in a stream that it failed. */
  | "broke";

export const GOOD: Health = { kind: "good", strikes: 0 };

const FIRST_ASIDE: Millis = millis(1_000);
/** An engine that restarts is back within seconds; more than this and a recovered replica would stay idle for long. */
const LONGEST_ASIDE: Millis = millis(15_000);
/** One broken answer may be the request's own fault (a prompt that kills the engine); so many in a row are the replica's. */
const STRIKES = 3;

export function afterEvent(health: Health, event: HealthEvent, now: Millis): Health {
  switch (event) {
    case "answered":
      return health.kind === "good" && health.strikes === 0 ? health : GOOD;
    case "connected":
      return health.kind === "aside" && health.cause === "unreachable" ? GOOD : health;
    case "refused":
      return setAside(health, "unreachable", now);
    case "timedOut":
      return setAside(health, "silent", now);
    case "broke":
      return strike(health, now);
    default:
      return assertNever(event);
  }
}

/** A request is about to test a replica whose time aside is over: the others wait for what it finds. */
export function beforeRequest(health: Health, now: Millis): Health {
  return health.kind === "good" ? health : { ...health, until: plus(now, FIRST_ASIDE), isTested: true };
}

export const mayTry = (health: Health, now: Millis): boolean => health.kind === "good" || now >= health.until;

function strike(health: Health, now: Millis): Health {
  if (health.kind === "good" && health.strikes + 1 < STRIKES) return { kind: "good", strikes: health.strikes + 1 };
  return setAside(health, "breaking", now);
}

function setAside(health: Health, cause: AsideCause, now: Millis): Health {
  // Many requests fail together when a replica does: that is one failure, and only a test that fails is another.
  if (health.kind === "aside" && !health.isTested && now < health.until) return health;
  const times = health.kind === "aside" ? health.times + 1 : 1;
  const length = millis(Math.min(LONGEST_ASIDE, FIRST_ASIDE * 2 ** (times - 1)));
  return { kind: "aside", cause, until: plus(now, length), times, isTested: false };
}
