import fc from "fast-check";
import { expect, test } from "vitest";
import { numaNodeIn, pciAddress } from "./pci.ts";

test.each([
  { text: "00000000:1B:00.0", want: "0000:1b:00.0" },
  { text: "0000:0B:00.0", want: "0000:0b:00.0" },
  { text: "0000000F:01:00.0", want: "000f:01:00.0" },
  { text: "00010000:01:00.0", want: "10000:01:00.0" },
  { text: "0000:3b:00", want: "0000:3b:00.0" },
  { text: " 0002:00:01.0\n", want: "0002:00:01.0" },
  { text: "[N/A]", want: "" },
  { text: "", want: "" },
  { text: "1B:00.0", want: "" },
])("$text", ({ text, want }) => {
  expect(pciAddress(text)).toBe(want);
});

test.each([
  { text: "-1\n", want: undefined },
  { text: "0\n", want: 0 },
  { text: "1", want: 1 },
  { text: "", want: undefined },
  { text: "none", want: undefined },
  { text: undefined, want: undefined },
  { text: "4294967295\n", want: undefined },
])("B13 numa_node $text is $want", ({ text, want }) => {
  expect(numaNodeIn(text)).toBe(want);
});

test("any text gives an address in the kernel's form, or none, and an address stays what it is", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const address = pciAddress(text);
      expect(address).toMatch(/^$|^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/);
      expect(pciAddress(address)).toBe(address);
    }),
  );
});
