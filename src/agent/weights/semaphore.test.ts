import { expect, test } from "vitest";
import { createSemaphore } from "./semaphore.ts";

const never = new AbortController().signal;

function blocked() {
  const gate = Promise.withResolvers<undefined>();
  const started = Promise.withResolvers<undefined>();
  return {
    started: started.promise,
    open: () => {
      gate.resolve(undefined);
    },
    work: async () => {
      started.resolve(undefined);
      await gate.promise;
    },
  };
}

test("no more than the limit at once, in order; a raised limit lets the next in", async () => {
  const semaphore = createSemaphore(1);
  const [a, b] = [blocked(), blocked()];
  const order: string[] = [];
  const first = semaphore.run(a.work, never).then(() => order.push("a"));
  const second = semaphore.run(b.work, never).then(() => order.push("b"));
  await a.started;
  semaphore.setLimit(2);
  await b.started;
  b.open();
  await second;
  a.open();
  await first;
  expect(order).toEqual(["b", "a"]);
});

test("who gives up while waiting never runs, and does not hold up those behind", async () => {
  const semaphore = createSemaphore(1);
  const a = blocked();
  const abort = new AbortController();
  const first = semaphore.run(a.work, never);
  const given = semaphore.run(() => Promise.resolve("ran"), abort.signal);
  const behind = semaphore.run(() => Promise.resolve("behind"), never);
  abort.abort();
  expect(await given).toBeUndefined();
  a.open();
  await first;
  expect(await behind).toBe("behind");
});

test("work that throws gives its place back", async () => {
  const semaphore = createSemaphore(1);
  await expect(semaphore.run(() => Promise.reject(new Error("no")), never)).rejects.toThrow("no");
  expect(await semaphore.run(() => Promise.resolve(1), never)).toBe(1);
});
