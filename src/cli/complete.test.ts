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
  { words: ["ctl", "nodes", "--output=j"], has: ["json"], hasNot: ["yaml"] },
  { words: ["ctl", "nodes", "--no-such=j"], has: [], hasNot: ["json"] },
  { words: ["ctl", "keys", ""], has: ["create", "list", "revoke"], hasNot: ["nodes"] },
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

test("the value of an option can be a name too, alone or after =", () => {
  expect(complete(ROOT, ["ctl", "weights", "--node", "g"]).names).toEqual(["node"]);
  expect(complete(ROOT, ["ctl", "ps", "--profile=q"])).toMatchObject({ names: ["profile"], prefix: "--profile=" });
});

test("which control plane was named before is known", () => {
  const words = ["ctl", "--server", "http://a:1", "--context=lab", "nodes", "-o", "json", ""];
  expect([...complete(ROOT, words).given]).toEqual([
    ["server", "http://a:1"],
    ["context", "lab"],
    ["output", "json"],
  ]);
});

test.each([
  [["ctl", "apply", "-f", ""], true],
  [["ctl", "backup", "x"], true],
  [["ctl", "--ca", ""], true],
  [["server", "--data-dir", ""], true],
  [["ctl", "nodes", ""], false],
  [["ctl", "run", ""], false],
])("after %j a file may stand: %s", (words, files) => {
  expect(complete(ROOT, words).files).toBe(files);
});
