import { ofSharedLimits, SHARED_LIMITS, type SharedLimits } from "../../core/client-key.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { Clock } from "../../platform/clock.ts";
import type { KeyShare, LimitShares } from "../../wire/gen/llmgw/v1/usage_pb.js";
import { demandToWire, type KeyDemand, sharesFromWire } from "../../wire/shares.ts";
import { totalFromWire } from "../../wire/usage.ts";
import type { Heard, Said, SessionPart } from "../session-part.ts";
import { type Caller, NONE_REFUSED } from "./caller.ts";
import type { KeyBook } from "./key-book.ts";

const TELL_EVERY: Millis = millis(1_000);
/** Somebody waits for a share: that is told sooner, but not for each request. */
const TELL_URGENTLY_EVERY: Millis = millis(20);
/** Nothing has changed: the control plane is told all the same that the router lives. */
const TELL_LIFE_EVERY: Millis = millis(5_000);

/**
 * This router's end of the sharing of limits: tells what is used and wanted under each key, takes the shares that come back
 * and the totals of budgets, and notices when nothing has come for as long as shares hold.
 */
export class ShareBook implements SessionPart {
  readonly #book: KeyBook;
  readonly #clock: Clock;
  /** Called when the number of routers has become another: worth remembering over a restart. */
  readonly #onRouters: (routers: number) => void;
  #active = new Set<Caller>();
  #revision = 0;
  #isFirst = true;
  #isFirstShare = true;
  /** Called when it is said that the router leaves. */
  #leaving: (() => void) | undefined;
  #hasLeft = false;
  #hasNews = false;
  #isUrgent = false;
  #toldAt = millis(Number.NEGATIVE_INFINITY);
  #wake: (() => void) | undefined;
  #cancelUrgent: (() => void) | undefined;
  #cancelLease: (() => void) | undefined;

  constructor(book: KeyBook, clock: Clock, onRouters: (routers: number) => void) {
    this.#book = book;
    this.#clock = clock;
    this.#onRouters = onRouters;
    book.onDemand = (caller, isShort) => {
      this.#demand(caller, isShort);
    };
  }

  /** The router stops: its shares are free from now on. Resolves when that is said, or nobody hears it, or after the time. */
  leave(time: Millis): Promise<void> {
    if (this.#wake === undefined) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const cancel = this.#clock.after(time, () => {
      resolve(undefined);
    });
    this.#leaving = () => {
      cancel();
      resolve(undefined);
    };
    this.#wake();
    return promise;
  }

  #demand(caller: Caller, isShort: boolean): void {
    caller.isActive = true;
    this.#active.add(caller);
    if (!isShort && !this.#isRelease(caller)) return;
    this.#isUrgent = true;
    this.#wakeInTime();
  }

  /** Others were told that all of its slots here are taken, and that is so no longer: somebody may wait for one. */
  #isRelease(caller: Caller): boolean {
    return caller.isToldFull && (this.#book.division.routers ?? 1) > 1 && !isFull(caller);
  }

  #wakeInTime(): void {
    const wait = this.#toldAt + TELL_URGENTLY_EVERY - this.#clock.monotonic();
    if (wait <= 0) this.#wake?.();
    else {
      this.#cancelUrgent ??= this.#clock.after(millis(wait), () => {
        this.#cancelUrgent = undefined;
        this.#wake?.();
      });
    }
  }

  opened(wake: () => void): void {
    this.#wake = wake;
    this.#isFirst = true;
    this.#revision = 0;
    this.#book.division.connected();
    this.#isFirstShare = true;
    this.#book.redivide();
  }

  next(): Said | undefined {
    const now = this.#clock.monotonic();
    const since = now - this.#toldAt;
    if (this.#leaving !== undefined) return this.#sayGoodbye(this.#leaving);
    if (this.#isFirst) return this.#say(this.#everything(), now);
    if (this.#isUrgent && since >= TELL_URGENTLY_EVERY) return this.#say(this.#news(), now);
    // Whatever woke this came too early, be it by a fraction of a millisecond, and nothing else may come for a second.
    if (this.#isUrgent) this.#wakeInTime();
    const isDue = this.#hasNews || (this.#active.size > 0 && since >= TELL_EVERY) || since >= TELL_LIFE_EVERY;
    return isDue ? this.#say(this.#news(), now) : undefined;
  }

  #sayGoodbye(said: () => void): Said | undefined {
    // Whoever asks again has taken the last word.
    if (this.#hasLeft) {
      said();
      return undefined;
    }
    this.#hasLeft = true;
    return { case: "demand", value: demandToWire({ revision: this.#revision, keys: [], leaving: true }) };
  }

  #say(keys: readonly KeyDemand[], now: Millis): Said {
    this.#isFirst = false;
    this.#isUrgent = false;
    this.#hasNews = false;
    this.#toldAt = now;
    return { case: "demand", value: demandToWire({ revision: this.#revision, keys, leaving: false }) };
  }

  /** To a control plane that may have forgotten everything. */
  #everything(): readonly KeyDemand[] {
    const now = this.#clock.monotonic();
    return [...this.#book.callers()].filter(hasSharedLimit).map((caller) => tellDemand(caller, now));
  }

  #news(): readonly KeyDemand[] {
    const now = this.#clock.monotonic();
    const keys: KeyDemand[] = [];
    const still = new Set<Caller>();
    for (const caller of this.#active) {
      const demand = tellDemand(caller, now);
      keys.push(demand);
      caller.refused = { ...NONE_REFUSED };
      // What is used goes down by itself, and that is news too.
      if (isIdle(demand)) caller.isActive = false;
      else still.add(caller);
    }
    this.#active = still;
    return keys;
  }

  heard(body: Heard): void {
    if (body.case === "shares") this.#take(body.value);
    else if (body.case === "usageAck" || body.case === "totals") {
      for (const total of body.value.totals.map(totalFromWire)) {
        this.#book.byId(total.keyId)?.use.budget.setTotal(total);
      }
    } else if (body.case === "keys") this.#hasNews = true;
  }

  #take({ revision, routers, leaseMs, keys }: LimitShares): void {
    const { division } = this.#book;
    if (division.routers !== routers) this.#onRouters(routers);
    // The first of a stream names every key.
    const changed = division.give(keys.map(asPair), { routers, isWhole: this.#isFirstShare });
    this.#isFirstShare = false;
    this.#book.redivide(changed === "all" ? undefined : keys.map(({ keyId }) => keyId));
    this.#revision = revision;
    this.#holdFor(millis(leaseMs));
    if (keys.length === 0) return;
    // A share that is given up is told at once: another router waits for it.
    this.#hasNews = true;
    this.#wake?.();
  }

  #holdFor(lease: Millis): void {
    this.#cancelLease?.();
    this.#cancelLease = this.#clock.after(lease, () => {
      this.#book.division.lapse();
      this.#book.redivide();
    });
  }

  closed(): void {
    this.#wake = undefined;
    this.#leaving?.();
    this.#cancelUrgent?.();
    this.#cancelUrgent = undefined;
    this.#book.division.disconnected();
    this.#book.redivide();
  }

  /** No timer is left. */
  stop(): void {
    this.#cancelLease?.();
    this.#cancelUrgent?.();
  }
}

const hasSharedLimit = ({ grant }: Caller): boolean => SHARED_LIMITS.some((name) => grant.limits[name] !== undefined);

const isFull = ({ grant, allowance, use }: Caller): boolean =>
  grant.limits.concurrency !== undefined && use.inFlight > 0 && use.inFlight >= (allowance.shares.concurrency ?? 0);

const asPair = (share: KeyShare): readonly [string, SharedLimits] => [share.keyId, sharesFromWire(share)];

/** Notes what others will know of it. */
function tellDemand(caller: Caller, now: Millis): KeyDemand {
  caller.isToldFull = isFull(caller);
  return demandOf(caller, now);
}

function demandOf({ grant, allowance, use, refused }: Caller, now: Millis): KeyDemand {
  const { shares } = allowance;
  const requests = use.minute.requests(now);
  const tokens = use.minute.tokens(now);
  const perRequest = requests === 0 ? 1 : Math.max(1, Math.ceil(tokens / requests));
  const used = { requestsPerMinute: requests, tokensPerMinute: tokens, concurrency: use.inFlight };
  const more = { ...refused, tokensPerMinute: refused.tokensPerMinute * perRequest };
  const demands = ofSharedLimits((name) =>
    grant.limits[name] === undefined
      ? undefined
      : { share: shares[name] ?? 0, used: used[name], wanted: used[name] + more[name] },
  );
  return { keyId: grant.id, ...demands };
}

const isIdle = (demand: KeyDemand): boolean =>
  SHARED_LIMITS.every((name) => demand[name] === undefined || (demand[name].used === 0 && demand[name].wanted === 0));
