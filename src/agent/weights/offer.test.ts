import { describe, expect, test } from "vitest";
import { err, ok } from "../../core/result.ts";
import { chooseFrom, globPattern, isSafeName, offerOf, shardsOf } from "./offer.ts";

const files = (...names: readonly string[]) => names.map((name) => ({ name, bytes: 1 }));
const first = (offered: readonly { readonly name: string }[]) =>
  offered[0] === undefined ? err("nothing") : ok({ files: [offered[0].name], main: offered[0].name });

test("B57 a shard brings all shards of its model, under their own names", () => {
  expect(shardsOf("q/m-00002-of-00003.gguf")).toEqual([
    "q/m-00001-of-00003.gguf",
    "q/m-00002-of-00003.gguf",
    "q/m-00003-of-00003.gguf",
  ]);
  expect(shardsOf("m.gguf")).toEqual(["m.gguf"]);
});

test("a source that names a file offers that, with its shards, and nothing else", () => {
  const all = files("a.gguf", "m-00002-of-00002.gguf", "m-00001-of-00002.gguf", "n-00001-of-00002.gguf");
  expect(offerOf(all, "m-00001-of-00002.gguf").map(({ name }) => name)).toEqual([
    "m-00002-of-00002.gguf",
    "m-00001-of-00002.gguf",
  ]);
  expect(offerOf(all, "a.gguf")).toEqual(files("a.gguf"));
  expect(offerOf(all, undefined)).toEqual(all);
});

describe("chooseFrom", () => {
  test("globs decide what is had, the engine what it is pointed at", () => {
    const offered = files("b.json", "a.gguf", "x/c.json");
    expect(chooseFrom(offered, ["*.json"], first)).toEqual(ok({ files: ["b.json", "x/c.json"], main: "b.json" }));
    expect(chooseFrom(offered, [], first)).toEqual(ok({ files: ["b.json"], main: "b.json" }));
  });

  test("globs that match nothing say what there is", () => {
    const got = chooseFrom(files("a.gguf"), ["*.bin"], first);
    expect(got).toMatchObject({ ok: false, error: expect.stringContaining("a.gguf") as string });
  });
});

test.each([
  { glob: "*.json", name: "a/b.json", want: true },
  { glob: "*.json", name: "b.jsonl", want: false },
  { glob: "a/*.json", name: "a/b.json", want: true },
  { glob: "a/*.json", name: "a/b/c.json", want: false },
  { glob: "a/**/*.json", name: "a/b/c.json", want: true },
  { glob: "a/**/*.json", name: "a/c.json", want: true },
  { glob: "**", name: "a/b", want: true },
  { glob: "m-?.gguf", name: "m-1.gguf", want: true },
  { glob: "m(1).gguf", name: "m(1).gguf", want: true },
  { glob: "m.gguf", name: "mXgguf", want: false },
])("$glob matches $name: $want", ({ glob, name, want }) => {
  expect(globPattern(glob).test(name)).toBe(want);
});

test.each(["../x", "/etc/passwd", "a//b", "a/./b", ".llmgw.json", "a\\b", "a/.b", "", "a\0"])(
  "%j is never a file of ours",
  (name) => {
    expect(isSafeName(name)).toBe(false);
  },
);
