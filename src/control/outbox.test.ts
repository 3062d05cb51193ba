import { expect, test } from "vitest";
import { Outbox } from "./outbox.ts";

async function all<T>(outbox: Outbox<T>): Promise<readonly (T | string)[]> {
  const seen: (T | string)[] = [];
  try {
    for await (const message of outbox) seen.push(message);
  } catch (error) {
    seen.push(String(error));
  }
  return seen;
}

test("hands messages on in order, also those that come while it waits", async () => {
  const outbox = new Outbox<number>();
  outbox.push(1);
  const seen = all(outbox);
  await Promise.resolve();
  outbox.push(2);
  outbox.push(3);
  outbox.end();
  outbox.push(4);
  expect(await seen).toEqual([1, 2, 3]);
});

test("only the newest of a key is sent", async () => {
  const outbox = new Outbox<string>();
  outbox.replace("table", "old");
  outbox.push("other");
  outbox.replace("table", "new");
  outbox.end();
  expect(await all(outbox)).toEqual(["other", "new"]);
});

test("an error ends it at once, and the first end counts", async () => {
  const outbox = new Outbox<number>();
  outbox.push(1);
  outbox.end(new Error("broken"));
  outbox.end();
  expect(await all(outbox)).toEqual(["Error: broken"]);
});

test("a reader that never reads does not fill the memory", async () => {
  const outbox = new Outbox<number>();
  for (let n = 0; n < 10_001; n++) outbox.push(n);
  expect(await all(outbox)).toEqual(["Error: 10000 messages wait and nobody reads them"]);
});
