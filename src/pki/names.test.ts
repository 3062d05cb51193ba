import { describe, expect, test } from "vitest";
import { canonicalAddress, nameEntries } from "./names.ts";

const entries = (names: readonly string[]): readonly string[] => {
  const read = nameEntries(names);
  if (!read.ok) throw new Error(read.error.join("\n"));
  return read.value.map(({ kind, value }) => `${kind}:${value}`);
};

describe("names of a certificate", () => {
  test("B153 addresses are addresses, the final dot goes, and nothing is there twice", () => {
    const names = ["192.0.2.10", "::1", "cp.example", "*.cp.example", "cp.example."];
    expect(entries(names)).toEqual(["ip:192.0.2.10", "ip:::1", "dns:cp.example", "dns:*.cp.example"]);
  });

  test.each([
    { name: "upper case", names: ["CP.Example", "cp.example"], want: ["dns:cp.example"] },
    { name: "one address in two spellings", names: ["2001:DB8::1", "2001:db8:0:0:0:0:0:1"], want: ["ip:2001:db8::1"] },
    { name: "brackets", names: ["[::1]"], want: ["ip:::1"] },
    { name: "an underscore and a single label", names: ["gpu_1", "localhost"], want: ["dns:gpu_1", "dns:localhost"] },
    { name: "a label of digits in front", names: ["1.example"], want: ["dns:1.example"] },
  ])("$name", ({ names, want }) => {
    expect(entries(names)).toEqual(want);
  });

  test("every name that cannot be one is told at once, with what to do", () => {
    const read = nameEntries([
      "https://cp.example:7443",
      "cp.example:7443",
      "a.*.b",
      "300.1.1.1",
      "",
      "a..b",
      "fine.example",
    ]);
    expect(read.ok ? [] : read.error).toEqual([
      expect.stringMatching(/whole address of a service/),
      expect.stringMatching(/leave the port out/),
      expect.stringMatching(/a star stands alone/),
      expect.stringMatching(/"300\.1\.1\.1" is neither/),
      expect.stringMatching(/"" is neither/),
      expect.stringMatching(/"a\.\.b" is neither/),
    ]);
  });

  test.each(["1.2.3", "01.2.3.4", "1.2.3.4.5", "::g", "fe80::1%eth0", "host"])("%s is no address", (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });
});
