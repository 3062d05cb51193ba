import { describe, expect, test } from "vitest";
import { isAtLeast, readVersion } from "./version.ts";

test.each([
  { output: "0.33.0\n", version: "0.33.0" },
  {
    output: "INFO 11-30 09:45:49 [importing.py:53] Triton not installed\n0.33.1rc1.dev901+g2f3f441f8\n",
    version: "0.33.1rc1.dev901+g2f3f441f8",
  },
  { output: "WARNING: something of 1.2.3 is old\n0.9.2+cu128\n", version: "0.9.2+cu128" },
  { output: "0.16.0.post1", version: "0.16.0.post1" },
  { output: "Traceback (most recent call last):\nImportError: libcudart.so.13", version: undefined },
  { output: "", version: undefined },
])("the version in $output", ({ output, version }) => {
  expect(readVersion(output)).toBe(version);
});

describe("isAtLeast", () => {
  test.each([
    { version: "0.33.0", least: [0, 16], is: true },
    { version: "0.16.0rc1", least: [0, 16], is: true },
    { version: "0.9.2", least: [0, 16], is: false },
    { version: "1.0.0", least: [0, 16], is: true },
    { version: "unknown", least: [0, 16], is: false },
    { version: undefined, least: [0, 16], is: false },
  ] as const)("$version against $least: $is", ({ version, least, is }) => {
    expect(isAtLeast(version, least)).toBe(is);
  });
});
