import { expect, test } from "vitest";
import { progressText } from "./progress.ts";

const MIB = 1024 * 1024;

test.each([
  {
    name: "everything known",
    progress: { what: "fetching model.gguf", bytesDone: 49 * MIB, bytesTotal: 98 * MIB, bytesPerSecond: 12 * MIB },
    want: "fetching model.gguf  ████████████░░░░░░░░░░░░   50%  49 MiB of 98 MiB  12 MiB/s  5s left",
  },
  {
    name: "no total",
    progress: { what: "fetching", bytesDone: 3 * MIB, bytesTotal: 0, bytesPerSecond: MIB },
    want: "fetching  3.0 MiB  1.0 MiB/s",
  },
  {
    name: "nothing yet",
    progress: { what: "installing llama.cpp b11669", bytesDone: 0, bytesTotal: 0, bytesPerSecond: 0 },
    want: "installing llama.cpp b11669",
  },
  {
    name: "done",
    progress: { what: "fetching", bytesDone: MIB, bytesTotal: MIB, bytesPerSecond: MIB },
    want: `fetching  ${"█".repeat(24)}  100%  1.0 MiB of 1.0 MiB  1.0 MiB/s`,
  },
  {
    name: "a source that sent more than it said",
    progress: { what: "fetching", bytesDone: 2 * MIB, bytesTotal: MIB, bytesPerSecond: 0 },
    want: `fetching  ${"█".repeat(24)}  100%  2.0 MiB of 1.0 MiB`,
  },
])("$name", ({ progress, want }) => {
  expect(progressText(progress, { bar: true })).toBe(want);
});

test("without a bar it is a line for a log", () => {
  const progress = { what: "fetching", bytesDone: MIB, bytesTotal: 4 * MIB, bytesPerSecond: MIB };
  expect(progressText(progress, { bar: false })).toBe("fetching   25%  1.0 MiB of 4.0 MiB  1.0 MiB/s  3s left");
});
