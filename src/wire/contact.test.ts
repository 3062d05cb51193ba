import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { type Contact, heard, lookAt, newContact } from "./contact.ts";

type Step = readonly ["look" | "hear", at: number];

function play(steps: readonly Step[]): boolean {
  let contact: Contact = newContact(millis(1_000), millis(0));
  let halfOpen = false;
  for (const [what, at] of steps) {
    if (what === "hear") {
      contact = heard(contact, millis(at));
      continue;
    }
    const look = lookAt(contact, millis(at));
    contact = look.contact;
    halfOpen = look.halfOpen;
  }
  return halfOpen;
}

const cases: readonly { name: string; steps: readonly Step[]; halfOpen: boolean }[] = [
  { name: "just opened", steps: [["look", 0]], halfOpen: false },
  {
    name: "one interval of silence",
    steps: [
      ["look", 500],
      ["look", 1_000],
    ],
    halfOpen: false,
  },
  {
    name: "just under two intervals",
    steps: [
      ["look", 1_000],
      ["look", 1_999],
    ],
    halfOpen: false,
  },
  {
    name: "two intervals",
    steps: [
      ["look", 1_000],
      ["look", 2_000],
    ],
    halfOpen: true,
  },
  {
    name: "anything heard starts the count anew",
    steps: [
      ["look", 1_000],
      ["hear", 1_500],
      ["look", 2_000],
      ["look", 3_000],
    ],
    halfOpen: false,
  },
  {
    name: "silence after something was heard",
    steps: [
      ["look", 1_000],
      ["hear", 1_500],
      ["look", 2_000],
      ["look", 3_000],
      ["look", 3_500],
    ],
    halfOpen: true,
  },
  {
    name: "this end was stopped for a minute: first read what has arrived",
    steps: [["look", 60_000]],
    halfOpen: false,
  },
  {
    name: "this end was stopped for a minute, and then nothing was there to read",
    steps: [
      ["look", 60_000],
      ["look", 60_250],
    ],
    halfOpen: true,
  },
  {
    name: "this end was stopped for a minute, and the answers were waiting",
    steps: [
      ["look", 60_000],
      ["hear", 60_010],
      ["look", 60_250],
    ],
    halfOpen: false,
  },
  {
    name: "a look that came a little late still counts",
    steps: [
      ["look", 1_000],
      ["look", 2_400],
    ],
    halfOpen: true,
  },
];

describe("B44 a half-open connection is found by what does not come back", () => {
  test.each(cases)("$name", ({ steps, halfOpen }) => {
    expect(play(steps)).toBe(halfOpen);
  });

  test.each([1, 2, 4, 10])("%i looks an interval find it within three intervals", (looks) => {
    const interval = 10_000;
    let contact = heard(newContact(millis(interval), millis(0)), millis(3));
    let at = 0;
    for (let halfOpen = false; !halfOpen && at < 10 * interval;) {
      at += interval / looks;
      ({ contact, halfOpen } = lookAt(contact, millis(at)));
    }
    expect(at).toBeGreaterThanOrEqual(2 * interval);
    expect(at).toBeLessThanOrEqual(3 * interval);
  });
});
