import { describe, expect, test } from "vitest";
import { flagName, type CommandSpec, type OptionSpec } from "./command.ts";
import { loadRoot } from "./root.ts";

const ROOT = await loadRoot();

interface Found {
  readonly path: string;
  readonly spec: CommandSpec;
  /** Its own options and those of the groups above. */
  readonly options: readonly OptionSpec[];
}

function commands(spec: CommandSpec, above: Omit<Found, "spec">): readonly Found[] {
  if (spec.hidden === true) return [];
  const path = `${above.path} ${spec.name}`.trim();
  const options = [...(spec.options ?? []), ...above.options];
  return [{ path, spec, options }, ...(spec.commands ?? []).flatMap((child) => commands(child, { path, options }))];
}

const ALL = commands(ROOT, { path: "", options: [] });

/** The command that an example's words lead to. */
function commandOf(words: readonly string[]): Found | undefined {
  const paths = new Map(ALL.map((found) => [found.path, found]));
  let path = "";
  for (const word of words) {
    const next = `${path} ${word}`.trim();
    // Options of a group and their values may stand between.
    if (paths.has(next)) path = next;
  }
  return paths.get(path);
}

/** The parts of a shell line that are calls of ours. */
const calls = (line: string): readonly (readonly string[])[] =>
  line
    .split(/\s*(?:\||&&|<\(|;)\s*/)
    .map((part) => part.replace(/[<>)].*$/, "").replaceAll(/"[^"]*"|'[^']*'/g, "TEXT"))
    .map((part) => part.split(/\s+/).filter((word) => word !== ""))
    .filter(([program]) => program === "llmgw");

describe.each(ALL)("llmgw help of $path", ({ path, spec }) => {
  test("has an example, and each example is a call that is taken", () => {
    expect(spec.examples.length, "examples").toBeGreaterThan(0);
    for (const { line, doc } of spec.examples) {
      expect(doc, line).not.toBe("");
      expect(calls(line).length, line).toBeGreaterThan(0);
      for (const words of calls(line)) {
        const found = commandOf(words);
        expect(found, line).toBeDefined();
        const known = new Set(
          found?.options.flatMap(({ flags }) => flags.split(/[ ,]+/).filter((it) => it.startsWith("-"))),
        );
        for (const word of words.filter((it) => it.startsWith("-") && it !== "-")) {
          expect([...known, "--help", "--version"], `${line}: ${word}`).toContain(word.replace(/=.*/s, ""));
        }
      }
    }
  });

  test("every option and argument says what it is, and no name is there twice", () => {
    const options = spec.options ?? [];
    for (const { flags, doc } of [
      ...options,
      ...(spec.arguments ?? []).map(({ form, doc }) => ({ flags: form, doc })),
    ]) {
      expect(doc, `${path} ${flags}`).not.toBe("");
    }
    const names = options.map(flagName);
    expect(new Set(names).size).toBe(names.length);
    expect(spec.summary).toMatch(/^[a-z].*[^.]$/s);
  });

  test("what lists can be watched and asked for in every form", () => {
    const names = (spec.options ?? []).map(flagName);
    if (names.includes("watch")) expect(names).toContain("output");
  });
});

test("every verb of ctl but those that print something of their own answers with -o json", () => {
  const own = ["llmgw ctl completion", "llmgw ctl login", "llmgw ctl logs"];
  const verbs = ALL.filter(({ path, spec }) => path.startsWith("llmgw ctl ") && spec.commands === undefined);
  const without = verbs.filter(({ spec }) => !(spec.options ?? []).map(flagName).includes("output"));
  expect(without.map(({ path }) => path).toSorted()).toEqual(own);
});
