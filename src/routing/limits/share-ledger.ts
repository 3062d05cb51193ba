import { SHARED_LIMITS, type SharedLimitName, type SharedLimits } from "../../core/client-key.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { allocate } from "./allocate.ts";
import { MINUTE } from "./minute.ts";
import { confirm, type Held, heldBy, isMinute, Sharer } from "./sharer.ts";

export interface LedgerTimes {
  /** How long a sharer that hears nothing goes on with what it has; then it takes an equal part, and never more. */
  readonly lease: Millis;
  /** How much longer it is waited for, so that both clocks agree that the lease is over. */
  readonly margin: Millis;
  /** A sharer that has been silent for so long holds nothing any more. */
  readonly forget: Millis;
  /** Between two divisions of one key's limits. */
  readonly pace: Millis;
  /** Between two questions about one key, what is really used of it. */
  readonly ask: Millis;
}

/** What a sharer says of one key. */
export type KeyReport = Readonly<Record<SharedLimitName, Report | undefined>> & { readonly keyId: string };

interface Report {
  readonly share: number;
  readonly used: number;
  readonly wanted: number;
}

/** What a sharer is to be told. */
export interface ShareNews {
  readonly revision: number;
  readonly sharers: number;
  readonly keys: readonly (readonly [keyId: string, shares: SharedLimits])[];
}

/**
 * Who may use how much of each key's limits. The sharers are routers, or the processes of one router. At every moment the
 * sum of what they may use is at most the limit: what one is to give up is given to another only when the first has said
 * that it no longer uses it, or cannot be there to use it.
 *
 * It holds state and no clock: every call says what time it is, on a clock that never steps.
 */
export class ShareLedger {
  readonly #times: LedgerTimes;
  readonly #sharers = new Map<string, Sharer>();
  #limits = new Map<string, SharedLimits>();
  readonly #dirty = new Set<string>();
  readonly #dividedAt = new Map<string, Millis>();
  readonly #askedAt = new Map<string, Millis>();
  /** Sharers that were there before this ledger was, and have not been heard since. */
  #strangers = new Set<string>();
  #strangersUntil = millis(Number.NEGATIVE_INFINITY);
  #strangersAtFirst = 0;
  #haveStrangersLapsed = false;

  constructor(times: LedgerTimes) {
    this.#times = times;
  }

  /** For a ledger that begins anew: these may hold anything, until they are heard, proven to have ended, or their lease is over. */
  expect(strangers: readonly string[], now: Millis): void {
    this.#strangers = new Set(strangers);
    this.#strangersAtFirst = strangers.length;
    this.#strangersUntil = millis(now + this.#times.lease + this.#times.margin);
  }

  /** Every key that has such limits. */
  setKeys(keys: Iterable<readonly [keyId: string, limits: SharedLimits]>): void {
    const next = new Map(keys);
    for (const [keyId, limits] of next) if (!isSame(this.#limits.get(keyId), limits)) this.#dirty.add(keyId);
    for (const keyId of this.#limits.keys()) {
      if (next.has(keyId)) continue;
      this.#dividedAt.delete(keyId);
      this.#askedAt.delete(keyId);
      for (const sharer of this.#sharers.values()) sharer.drop(keyId);
    }
    this.#limits = next;
  }

  /** A sharer is connected. It gets nothing before it has said what it has. */
  join(id: string): void {
    const sharer = this.#sharers.get(id) ?? new Sharer();
    sharer.presence = { kind: "joining" };
    sharer.revision = 0;
    this.#sharers.set(id, sharer);
  }

  hear(id: string, revision: number, reports: readonly KeyReport[]): void {
    const sharer = this.#sharers.get(id);
    if (sharer === undefined) return;
    if (sharer.presence.kind === "joining") this.#welcome(id, sharer, reports);
    else this.#note(sharer, revision, reports);
    sharer.isAnswerDue = true;
  }

  #welcome(id: string, sharer: Sharer, reports: readonly KeyReport[]): void {
    sharer.presence = { kind: "here" };
    sharer.isWholeDue = true;
    this.#strangers.delete(id);
    sharer.clear();
    for (const report of reports) {
      for (const limit of SHARED_LIMITS) {
        const { share, used, wanted } = report[limit] ?? NOTHING_SAID;
        sharer.put(report.keyId, limit, { sent: share, ceiling: share, used, wanted, revision: 0 });
      }
    }
    this.#everythingIsDirty();
  }

  #note(sharer: Sharer, revision: number, reports: readonly KeyReport[]): void {
    for (const keyId of sharer.confirmed(revision)) this.#dirty.add(keyId);
    for (const report of reports) {
      for (const limit of SHARED_LIMITS) {
        const said = report[limit];
        if (said === undefined) continue;
        const held = confirm(sharer.held(report.keyId, limit), revision);
        sharer.put(report.keyId, limit, { ...held, used: said.used, wanted: said.wanted });
      }
      this.#dirty.add(report.keyId);
    }
  }

  /** Its connection is gone, and it may well live. */
  lose(id: string, now: Millis): void {
    const sharer = this.#sharers.get(id);
    if (sharer === undefined || sharer.presence.kind === "ended") return;
    sharer.presence = { kind: "silent", since: now };
  }

  /** It uses nothing from now on: it said so, or is proven to have ended. What it used in the last minute still counts. */
  end(id: string, now: Millis): void {
    if (this.#strangers.delete(id)) this.#everythingIsDirty();
    const sharer = this.#sharers.get(id);
    if (sharer === undefined || sharer.presence.kind === "ended") return;
    sharer.presence = { kind: "ended", at: now };
    this.#everythingIsDirty();
  }

  /** Divides what has changed, and what time has changed. Answers whether something waits for its turn. */
  divide(now: Millis): boolean {
    this.#passTime(now);
    for (const keyId of [...this.#dirty]) {
      const limits = this.#limits.get(keyId);
      if (limits === undefined) this.#dirty.delete(keyId);
      else if (now - (this.#dividedAt.get(keyId) ?? -Infinity) >= this.#times.pace) {
        this.#dirty.delete(keyId);
        this.#dividedAt.set(keyId, now);
        for (const limit of SHARED_LIMITS) this.#divideOne({ keyId, limit, most: limits[limit], now });
      }
    }
    return this.#dirty.size > 0;
  }

  #passTime(now: Millis): void {
    if (this.#strangersLapse(now)) this.#everythingIsDirty();
    for (const [id, sharer] of this.#sharers) {
      const change = this.#changeByTime(sharer, now);
      if (change === undefined) continue;
      if (change === "forget") this.#sharers.delete(id);
      else sharer.hasLapsed = true;
      this.#everythingIsDirty();
    }
  }

  /** From now on those who have not been heard are known to hold an equal part at most. */
  #strangersLapse(now: Millis): boolean {
    if (this.#haveStrangersLapsed || this.#strangers.size === 0 || now < this.#strangersUntil) return false;
    this.#haveStrangersLapsed = true;
    return true;
  }

  #changeByTime({ presence, hasLapsed }: Sharer, now: Millis): "forget" | "lapse" | undefined {
    const { lease, margin, forget } = this.#times;
    if (presence.kind === "ended") return now - presence.at >= MINUTE ? "forget" : undefined;
    if (presence.kind !== "silent") return undefined;
    if (now - presence.since >= forget) return "forget";
    return !hasLapsed && now - presence.since >= lease + margin ? "lapse" : undefined;
  }

  #divideOne({ keyId, limit, most, now }: Division): void {
    if (most === undefined) return;
    const here: Here[] = [];
    let others = this.#heldByStrangers(most);
    if (others === undefined) return;
    for (const sharer of this.#sharers.values()) {
      const held = sharer.held(keyId, limit);
      if (sharer.presence.kind === "here") here.push({ sharer, held });
      else others += this.#heldByAbsent(sharer, held, { most, limit });
    }
    const asks = here.map(({ held }) => ({ used: Math.min(held.used, most), wanted: held.wanted }));
    const targets = allocate(Math.max(0, most - others), asks, hashOf(keyId));
    if (limit === "concurrency") this.#askAbout(keyId, here, now);
    if (isWorthIt(here, targets, most)) give({ keyId, limit, most: most - others }, here, targets);
  }

  /** Somebody has none left, and requests that others had may have ended since they were asked last. */
  #askAbout(keyId: string, here: readonly Here[], now: Millis): void {
    const isShort = here.some(({ held }) => held.wanted > held.used && held.used >= held.sent);
    const users = isShort ? here.filter(({ held }) => held.used > 0 && held.wanted <= held.used) : [];
    if (users.length === 0) return;
    if (now - (this.#askedAt.get(keyId) ?? -Infinity) < this.#times.ask) {
      this.#dirty.add(keyId);
      return;
    }
    this.#askedAt.set(keyId, now);
    for (const { sharer } of users) sharer.due.add(keyId);
  }

  /** Undefined: they may hold all of it. */
  #heldByStrangers(most: number): number | undefined {
    if (this.#strangers.size === 0) return 0;
    if (!this.#haveStrangersLapsed) return undefined;
    return this.#strangers.size * Math.floor(most / Math.max(1, this.#strangersAtFirst));
  }

  #heldByAbsent(
    sharer: Sharer,
    held: Held,
    { most, limit }: Pick<Division, "limit"> & { readonly most: number },
  ): number {
    if (sharer.presence.kind === "ended") return isMinute(limit) ? held.used : 0;
    if (!sharer.hasLapsed || sharer.presence.kind !== "silent") return heldBy(held);
    return Math.min(heldBy(held), Math.floor(most / Math.max(1, sharer.sharersTold)));
  }

  /** What the sharer is to be told, once; undefined: nothing. */
  take(id: string): ShareNews | undefined {
    const sharer = this.#sharers.get(id);
    if (sharer?.presence.kind !== "here") return undefined;
    const sharers = this.sharers;
    const isNews = sharer.isWholeDue || sharer.isAnswerDue || sharer.due.size > 0 || sharer.sharersTold !== sharers;
    if (!isNews) return undefined;
    const keyIds = sharer.isWholeDue ? this.#limits.keys() : sharer.due;
    const keys = [...keyIds].flatMap((keyId) => {
      const limits = this.#limits.get(keyId);
      return limits === undefined ? [] : [[keyId, sharer.shares(keyId, limits)] as const];
    });
    sharer.told(sharers);
    return { revision: sharer.revision, sharers, keys };
  }

  /** That may use some of the limits. */
  get sharers(): number {
    const ended = [...this.#sharers.values()].filter(({ presence }) => presence.kind === "ended").length;
    return this.#sharers.size - ended + this.#strangers.size;
  }

  #everythingIsDirty(): void {
    for (const keyId of this.#limits.keys()) this.#dirty.add(keyId);
  }
}

/** A sharer that is connected, and what it has of the limit in question. */
interface Here {
  readonly sharer: Sharer;
  readonly held: Held;
}

interface Division {
  readonly keyId: string;
  readonly limit: SharedLimitName;
  readonly most: number | undefined;
  readonly now: Millis;
}

/** Less is told at once; more only as far as nobody may still be using it. */
function give(
  { keyId, limit, most }: Pick<Division, "keyId" | "limit"> & { readonly most: number },
  here: readonly Here[],
  targets: readonly number[],
): void {
  let free = most;
  for (const { held } of here) free -= heldBy(held);
  for (const [at, { sharer, held }] of here.entries()) {
    const more = Math.max(0, Math.min((targets[at] ?? 0) - heldBy(held), free));
    const sent = more > 0 ? heldBy(held) + more : Math.min(targets[at] ?? 0, heldBy(held));
    free -= more;
    if (sent !== held.sent) sharer.send(keyId, limit, sent);
  }
}

const NOTHING_SAID = { share: 0, used: 0, wanted: 0 };

const isSame = (a: SharedLimits | undefined, b: SharedLimits): boolean =>
  a !== undefined && SHARED_LIMITS.every((limit) => a[limit] === b[limit]);

/** The odd one of a small limit is not the same sharer's for every key. */
function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = (hash * 31 + text.charCodeAt(at)) % 65_521;
  return hash;
}

/** Of a limit that others want too: less than this is not worth a message. */
const WORTH = 1 / 50;
/** From this part of its share on a sharer is about to need more. */
const NEARLY = 0.75;
/** So many times its share is far from it. */
const FAR = 4;

/** Shares stay as they are as long as nobody is about to want more than it has: small moves back and forth help nobody. */
function isWorthIt(here: readonly Here[], targets: readonly number[], most: number): boolean {
  const sent = here.reduce((sum, { held }) => sum + held.sent, 0);
  const wanted = targets.reduce((sum, target) => sum + target, 0);
  // Something is left over, or too much is given.
  if (sent !== wanted) return true;
  return here.some(({ held }, at) => {
    const target = targets[at] ?? 0;
    // It came when all was given away.
    if (held.sent * FAR < target) return true;
    const isPressed = held.wanted > held.sent || held.used > held.sent * NEARLY;
    return isPressed && target > held.sent && (target - held.sent >= most * WORTH || held.used >= held.sent);
  });
}
