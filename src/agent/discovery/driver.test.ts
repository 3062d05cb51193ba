import { expect, test } from "vitest";
import { parseDriverVersion } from "./driver.ts";

test.each([
  {
    text: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.144.03  Mon Dec 30 17:44:08 UTC 2024\nGCC version:  gcc 12\n",
    version: "550.144.03",
  },
  {
    text: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (u@h)\n",
    version: "570.86.15",
  },
  { text: "NVRM version: something new\n", version: "" },
  { text: "", version: "" },
])("$version", ({ text, version }) => {
  expect(parseDriverVersion(text)).toBe(version);
});
