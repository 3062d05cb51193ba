import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type KeyGrant, NO_LIMITS } from "../../core/client-key.ts";
import { millis } from "../../core/ids.ts";
import type { Clock } from "../../platform/clock.ts";
import { RouterSessionResponseSchema } from "../../wire/gen/llmgw/v1/router_pb.js";
import { KeyBook } from "./key-book.ts";
import { ShareBook } from "./share-book.ts";
import { KeyVisit } from "./visit.ts";

/** A clock that a test moves; timers run when their time has come. */
class HandClock implements Clock {
  time = 1_000_000;
  #timers: { readonly at: number; readonly run: () => void }[] = [];
  now = () => millis(this.time);
  monotonic = () => millis(this.time);
  after = (delay: number, run: () => void): (() => void) => {
    const timer = { at: this.time + delay, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  };
  pass(ms: number): void {
    this.time += ms;
    const due = this.#timers.filter(({ at }) => at <= this.time);
    this.#timers = this.#timers.filter(({ at }) => at > this.time);
    for (const { run } of due) run();
  }
}

const grant: KeyGrant = {
  id: "k",
  name: "app",
  sha256: "s",
  models: [],
  limits: { ...NO_LIMITS, concurrency: 4 },
  expiresAt: undefined,
};

function site() {
  const clock = new HandClock();
  const keys = new KeyBook();
  keys.update({ revision: 1, keys: [grant], shared: true });
  const book = new ShareBook(keys, clock, () => undefined);
  let wakes = 0;
  book.opened(() => (wakes += 1));
  const caller = keys.byId("k");
  if (caller === undefined) throw new Error("no caller");
  const visit = (): KeyVisit => new KeyVisit(caller, keys, clock);
  const give = (concurrency: number, revision: number, routers = 2): void => {
    const value = { revision, routers, leaseMs: 60_000, keys: [{ keyId: "k", concurrency }] };
    book.heard(create(RouterSessionResponseSchema, { body: { case: "shares", value } }).body);
  };
  const told = () => {
    const said = book.next();
    return said?.case === "demand" ? said.value : undefined;
  };
  return { clock, keys, book, visit, give, told, wakes: () => wakes };
}

test("first it tells what it has; then what is used, once a second, and that it lives", () => {
  const { clock, visit, give, told } = site();
  expect(told()).toMatchObject({ revision: 0, keys: [{ keyId: "k", concurrency: { share: 0, used: 0 } }] });
  expect(told()).toBeUndefined();
  give(2, 1);
  expect(told()).toMatchObject({ revision: 1 });
  const one = visit();
  expect(one.enter()).toBeUndefined();
  expect(told()).toBeUndefined();
  clock.pass(1_000);
  expect(told()).toMatchObject({ keys: [{ concurrency: { share: 2, used: 1, wanted: 1 } }] });
  one.leave(10);
  clock.pass(1_000);
  expect(told()).toMatchObject({ keys: [{ concurrency: { used: 0 } }] });
  clock.pass(1_000);
  expect(told()).toBeUndefined();
  clock.pass(4_000);
  expect(told()).toMatchObject({ keys: [] });
});

test("a request that finds no share left is told at once, and goes on when one comes", () => {
  const { clock, visit, give, told, wakes } = site();
  told();
  give(1, 1);
  told();
  visit().enter();
  clock.pass(1_000);
  told();
  const late = visit();
  expect(late.enter()?.refusal.code).toBe("RATE_LIMITED");
  let tries = 0;
  const cancel = late.waitForShare(() => (tries += 1));
  clock.pass(30);
  expect(wakes()).toBeGreaterThan(0);
  expect(told()).toMatchObject({ keys: [{ concurrency: { share: 1, used: 1, wanted: 2 } }] });
  give(2, 2);
  expect(tries).toBe(1);
  expect(late.enter()).toBeUndefined();
  cancel?.();
});

test("waiting in vain ends, and the next requests do not wait", () => {
  const { clock, visit, give, told } = site();
  told();
  give(0, 1);
  const first = visit();
  first.enter();
  let tries = 0;
  const cancel = first.waitForShare(() => (tries += 1));
  clock.pass(400);
  expect(tries).toBe(1);
  cancel?.();
  expect(first.enter()?.refusal.code).toBe("RATE_LIMITED");
  expect(first.waitForShare(() => undefined)).toBeUndefined();
  const next = visit();
  next.enter();
  expect(next.waitForShare(() => undefined)).toBeUndefined();
  clock.pass(1_000);
  const later = visit();
  later.enter();
  const cancelLater = later.waitForShare(() => undefined);
  expect(cancelLater).toBeDefined();
  cancelLater?.();
});

test("a lease that is over leaves an equal part", () => {
  const { clock, keys, book, give, told } = site();
  told();
  give(4, 1);
  const share = () => keys.byId("k")?.allowance.shares.concurrency;
  book.closed();
  clock.pass(59_000);
  expect(share()).toBe(4);
  clock.pass(1_000);
  expect(share()).toBe(2);
  book.stop();
});

test("leaving is said last, and over when somebody has taken it", async () => {
  const { book, clock, told } = site();
  told();
  let hasLeft = false;
  const left = book.leave(millis(2_000)).then(() => (hasLeft = true));
  expect(told()).toMatchObject({ leaving: true });
  expect(hasLeft).toBe(false);
  expect(told()).toBeUndefined();
  await left;
  clock.pass(10_000);
});
