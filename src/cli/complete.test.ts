import { expect, test } from "vitest";
import { complete } from "./complete.ts";
import { loadRoot } from "./root.ts";

const ROOT = await loadRoot();

test.each([
  { words: [""], has: ["up", "server", "agent", "ctl"], hasNot: ["complete"] },
  { words: ["ctl", "st"], has: ["status"], hasNot: ["nodes"] },
  { words: ["ctl", "nodes", "--out"], has: ["--output"], hasNot: ["--watch"] },
  { words: ["ctl", "nodes", "-o", ""], has: ["json", "yaml", "table"], hasNot: [] },
  { words: ["ctl", "--server", "x", "nodes", "--se"], has: ["--server"], hasNot: [] },
  { words: ["ctl", "completion", "b"], has: ["bash"], hasNot: ["fish"] },
  { words: ["--log-level", "de"], has: ["debug"], hasNot: ["ctl"] },
  { words: ["no", "such", "thing", ""], has: [], hasNot: ["no"] },
])("after $words", ({ words, has, hasNot }) => {
  const found = complete(ROOT, words).words;
  for (const word of has) expect(found).toContain(word);
  for (const word of hasNot) expect(found).not.toContain(word);
});

test("names that only the control plane knows", () => {
  expect(complete(ROOT, ["ctl", "nodes", ""]).names).toEqual(["node"]);
  expect(complete(ROOT, ["ctl", "chat", ""]).names).toEqual(["model"]);
  expect(complete(ROOT, ["ctl", "chat", "m", ""]).names).toEqual([]);
});
