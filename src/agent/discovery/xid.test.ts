import fc from "fast-check";
import { expect, test } from "vitest";
import { cardFaults } from "./xid.ts";

const xid = (n: number, words = "pid='<unknown>', name=<unknown>, words"): string =>
  `NVRM: Xid (PCI:0000:3b:00): ${String(n)}, ${words}`;
const action = (from: string, to: string): string =>
  xid(154, `GPU recovery action changed from 0x0 (${from}) to 0x1 (${to})`);

test.each([
  { name: "a fault of a program is none of the card", lines: [xid(13), xid(31), xid(43)], want: [] },
  { name: "a row that was replaced is no fault any more", lines: [xid(63), xid(94)], want: [] },
  { name: "an uncontained memory error", lines: [xid(31), xid(95)], want: [/Xid 95/] },
  { name: "the first of several", lines: [xid(48), xid(95)], want: [/Xid 48/] },
  {
    name: "the driver was loaded again since",
    lines: [xid(95), "NVRM: loading NVIDIA UNIX Open Kernel Module"],
    want: [],
  },
  { name: "what the driver asks for", lines: [action("None", "GPU Reset Required")], want: [/GPU Reset Required/] },
  { name: "what the driver asked for was done", lines: [xid(95), action("GPU Reset Required", "None")], want: [] },
  { name: "without words", lines: ["NVRM: Xid (PCI:0000:3b:00): 119"], want: [/Xid 119/] },
  { name: "of a switch", lines: ["nvidia-nvswitch0: SXid (PCI:0000:3b:00.0): 11001, Fatal"], want: [] },
  {
    name: "with a function, as some write it",
    lines: ["NVRM: Xid (PCI:0000:3b:00.0): 79, GPU has fallen off the bus."],
    want: [/Xid 79/],
  },
  { name: "an address that is none", lines: ["NVRM: Xid (PCI:zz): 79, x"], want: [] },
])("$name", ({ lines, want }) => {
  const faults = cardFaults(lines);
  expect(faults.map(({ pciBusId }) => pciBusId)).toEqual(want.map(() => "0000:3b:00.0"));
  for (const [at, words] of want.entries()) expect(faults[at]?.sentence).toMatch(words);
});

test("any lines are read without a throw", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.nat().map((n) => xid(n)),
        ),
      ),
      (lines) => {
        expect(cardFaults(lines).length).toBeLessThanOrEqual(1);
      },
    ),
  );
});
