import { expect, test } from "vitest";
import { readVersion } from "./version.ts";

test.each([
  { output: "sglang 0.5.23\n", version: "0.5.23" },
  { output: "a warning first\nsglang 0.5.15.post1\n", version: "0.5.15.post1" },
  { output: "importlib.metadata.PackageNotFoundError: No package metadata was found for sglang", version: undefined },
])("the version in $output", ({ output, version }) => {
  expect(readVersion(output)).toBe(version);
});
