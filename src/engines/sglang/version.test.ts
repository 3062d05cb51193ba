import { expect, test } from "vitest";
import { readVersion, withoutTls } from "./version.ts";

test.each([
  { output: "sglang 0.5.23\n", version: "0.5.23" },
  { output: "a warning first\nsglang 0.5.15.post1\n", version: "0.5.15.post1" },
  { output: "importlib.metadata.PackageNotFoundError: No package metadata was found for sglang", version: undefined },
])("the version in $output", ({ output, version }) => {
  expect(readVersion(output)).toBe(version);
});

test.each([
  { version: "0.5.9", can: false },
  { version: "0.5.9.post1", can: false },
  { version: "0.4.10", can: false },
  { version: "0.5.10", can: true },
  { version: "0.5.23", can: true },
  { version: "1.0.0", can: true },
  // Nobody knows: it is tried.
  { version: "", can: true },
])("a build of version $version can answer over TLS: $can", ({ version, can }) => {
  expect(withoutTls(version)).toEqual(can ? undefined : expect.stringContaining("take 0.5.10 or a later release"));
});
