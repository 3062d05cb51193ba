import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { FairQueue } from "./queue.ts";

const NOW = millis(0);
const LATER = millis(NOW + 1_000);
const queueOf = (...items: readonly string[]): FairQueue<string> => {
  const queue = new FairQueue<string>({ length: 100 });
  // The first letter is the key.
  for (const item of items) queue.push(item, item.slice(0, 1), LATER);
  return queue;
};
function drain(queue: FairQueue<string>): readonly string[] {
  const order: string[] = [];
  for (let item = queue.take(NOW); item !== undefined; item = queue.take(NOW)) order.push(item);
  return order;
}

describe("turns", () => {
  test.each([
    { name: "one key: as they came", items: ["a1", "a2", "a3"], want: ["a1", "a2", "a3"] },
    {
      name: "keys take turns",
      items: ["a1", "a2", "a3", "b1", "c1", "b2"],
      want: ["a1", "b1", "c1", "a2", "b2", "a3"],
    },
    { name: "nobody is there twice", items: ["a1", "a1"], want: ["a1"] },
  ])("$name", ({ items, want }) => {
    expect(drain(queueOf(...items))).toEqual(want);
  });

  test("a key that comes back after its turn stands behind the others", () => {
    const queue = queueOf("a1", "b1", "c1");
    expect(queue.take(NOW)).toBe("a1");
    queue.push("a2", "a", LATER);
    expect(drain(queue)).toEqual(["b1", "c1", "a2"]);
  });

  test("whoever leaves is gone at once", () => {
    const queue = queueOf("a1", "a2", "b1");
    expect([queue.remove("a1"), queue.remove("a1"), queue.size]).toEqual([true, false, 2]);
    expect(drain(queue)).toEqual(["a2", "b1"]);
  });
});

test("full is full, and a deadline takes out who has waited that long", () => {
  const queue = new FairQueue<string>({ length: 2 });
  expect([
    queue.push("a", "k", millis(1_000)),
    queue.push("b", "k", millis(1_500)),
    queue.push("c", "k", millis(1_600)),
  ]).toEqual([true, true, false]);
  expect(queue.expire(millis(999))).toEqual([]);
  expect(queue.expire(millis(1_000))).toEqual(["a"]);
  expect(queue.push("c", "k", millis(2_000))).toBe(true);
  expect(queue.expire(millis(5_000))).toEqual(["b", "c"]);
  expect(queue.size).toBe(0);
});

test("the wait is told from the pace of the last turns", () => {
  const queue = queueOf("a1", "a2", "a3", "a4");
  expect(queue.expectedWait(NOW)).toBeUndefined();
  queue.take(millis(100));
  queue.take(millis(300));
  expect(queue.expectedWait(millis(500))).toBe(600);
});

/** What happens to a queue, drawn at random. */
type Step =
  | { readonly kind: "push"; readonly key: string }
  | { readonly kind: "take" }
  | { readonly kind: "leave"; readonly which: number }
  | { readonly kind: "pass"; readonly ms: number };

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("push" as const), key: fc.constantFrom("a", "b", "c", "d") }),
    },
    { weight: 3, arbitrary: fc.constant<Step>({ kind: "take" }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat({ max: 400 }) }) },
  ),
  { maxLength: 200 },
);

test("nobody is lost, nobody is served twice, each key keeps its order, and an empty queue counts zero", () => {
  fc.assert(
    fc.property(steps, (run) => {
      const queue = new FairQueue<string>({ length: 20 });
      const inside: string[] = [];
      let now = millis(0);
      const leaves = (item: string): void => {
        expect(inside).toContain(item);
        inside.splice(inside.indexOf(item), 1);
      };
      for (const [index, step] of run.entries()) {
        if (step.kind === "pass") {
          now = millis(now + step.ms);
          for (const item of queue.expire(now)) leaves(item);
        } else if (step.kind === "push") {
          const item = `${step.key}${String(index).padStart(4, "0")}`;
          if (queue.push(item, step.key, millis(now + 1_000))) inside.push(item);
          else expect(inside).toHaveLength(20);
        } else if (step.kind === "leave") {
          const item = inside[step.which % Math.max(1, inside.length)];
          if (item !== undefined && queue.remove(item)) leaves(item);
        } else {
          const item = queue.take(now);
          expect(item === undefined).toBe(inside.length === 0);
          if (item === undefined) continue;
          const mates = inside.filter((other) => other.startsWith(item.slice(0, 1)));
          expect(item).toBe(mates[0]);
          leaves(item);
        }
        expect(queue.size).toBe(inside.length);
      }
    }),
  );
});

test("no key starves: whoever is first of a key has his turn before any other key has two", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 60 }), (keys) => {
      const order = drain(queueOf(...keys.map((key, index) => `${key}${String(index)}`))).map((item) =>
        item.slice(0, 1),
      );
      for (let at = 0; at < order.length; at++) {
        const waiting = new Set(order.slice(at));
        expect(new Set(order.slice(at, at + waiting.size))).toEqual(waiting);
      }
    }),
  );
});
