import { describe, expect, test } from "vitest";
import { heldTogether, parseProcessMemory, readProcessMemory } from "./process-memory.ts";

const MiB = 2 ** 20;

describe("one process", () => {
  test.each([
    {
      name: "its own, mapped files and shared memory",
      text: "Name:\tllama-server\nVmRSS:\t   7168 kB\nRssAnon:\t    1024 kB\nRssFile:\t    4096 kB\nRssShmem:\t    2048 kB\n",
      want: { own: 1 * MiB, files: 4 * MiB, shared: 2 * MiB },
    },
    { name: "one that has ended has no memory", text: "Name:\tllama-server\nState:\tZ (zombie)\n", want: undefined },
    { name: "a kernel that tells the sum alone", text: "VmRSS:\t 7168 kB\n", want: undefined },
    { name: "nothing", text: "", want: undefined },
  ])("$name", ({ text, want }) => {
    expect(parseProcessMemory(text)).toEqual(want);
  });

  test("this one has some, and one that is not there has none", () => {
    expect(readProcessMemory(process.pid)?.own).toBeGreaterThan(MiB);
    expect(readProcessMemory(2 ** 30)).toBeUndefined();
  });
});

test.each([
  { name: "without the mapped files", withFiles: false, want: 5 + 3 },
  { name: "with the largest of them", withFiles: true, want: 5 + 3 + 20 },
])("several processes: what is their own adds up, what is shared counts once, $name", ({ withFiles, want }) => {
  const processes = [
    { own: 2, files: 20, shared: 3 },
    { own: 3, files: 10, shared: 1 },
  ];
  expect(heldTogether(processes, withFiles)).toBe(want);
  expect(heldTogether([], withFiles)).toBe(0);
});
