import { describe, expect, test } from "vitest";
import { optionsOf } from "./options.ts";

describe("optionsOf", () => {
  test.each<{ name: string; args: readonly string[]; value: string | undefined }>([
    { name: "apart", args: ["--max-model-len", "8"], value: "8" },
    { name: "with a sign", args: ["--max-model-len=8"], value: "8" },
    { name: "with underscores", args: ["--max_model_len", "8"], value: "8" },
    { name: "the last one counts", args: ["--max-model-len", "8", "--max-model-len=9"], value: "9" },
    { name: "a value that has a sign itself", args: ["--max-model-len=a=b"], value: "a=b" },
    { name: "without its value", args: ["--max-model-len"], value: undefined },
    { name: "another name that begins the same", args: ["--max-model-length", "8"], value: undefined },
    { name: "not there", args: [], value: undefined },
  ])("$name", ({ args, value }) => {
    expect(optionsOf(args).value("--max-model-len")).toBe(value);
  });

  test("short and long names are one option", () => {
    const options = optionsOf(["-tp", "4"]);
    expect(options.number("-tp", "--tensor-parallel-size")).toBe(4);
    expect(options.has("-tp", "--tensor-parallel-size")).toBe(true);
    expect(options.has("-pp")).toBe(false);
  });

  test.each([
    ["0.85", 0.85],
    ["-1", -1],
    ["8k", undefined],
    ["auto", undefined],
  ])("%s as a number", (text, number) => {
    expect(optionsOf(["--x", text]).number("--x")).toBe(number);
  });
});
