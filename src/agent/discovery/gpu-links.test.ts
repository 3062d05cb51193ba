import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linkIn, readTopology } from "./gpu-links.ts";

const matrix = (rows: readonly string[]): string => `${rows.join("\n")}\n\nLegend:\n\n  X    = Self\n  NV#  = links\n`;
/** "0→1 nvlink 18" */
const short = (text: string): readonly string[] =>
  readTopology(text).map(
    ({ from, to, kind, lanes }) => `${String(from)}→${String(to)} ${kind}${lanes > 0 ? ` ${String(lanes)}` : ""}`,
  );

describe("nvidia-smi topo -m", () => {
  test("an underlined header, empty affinities, and adapters beside the GPUs", () => {
    const text = matrix([
      "\t\u001b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u001b[0m",
      "GPU0\t X \tNV18\tSYS\tNODE\tSYS\t0-35\t0\t\tN/A",
      "GPU1\tNV18\t X \tPXB\tNODE\tSYS\t\t1\t\tN/A",
      "GPU2\tSYS\tPXB\t X \tPIX\tSYS\t\t\t\t",
      "NIC0\tNODE\tNODE\tPIX\t X \tSYS\t\t\t\t",
    ]);
    expect(short(text)).toEqual(["0→1 nvlink 18", "0→2 sys", "1→0 nvlink 18", "1→2 pxb", "2→0 sys", "2→1 pxb"]);
  });

  test("adapters between the GPUs do not shift the columns", () => {
    expect(short("\tGPU0\tmlx5_0\tGPU1\tCPU Affinity\nGPU0\t X \tPIX\tPHB\t0-7\nGPU1\tPHB\tSYS\t X \t0-7\n")).toEqual([
      "0→1 phb",
      "1→0 phb",
    ]);
  });

  test("one GPU has no links", () => {
    expect(short("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t\tN/A\n")).toEqual([]);
  });

  test("CRLF and a header without the first tab", () => {
    expect(short("        \tGPU0\tGPU1\r\nGPU0\t X \tNV4\r\nGPU1\tNV4\t X \r\n")).toEqual([
      "0→1 nvlink 4",
      "1→0 nvlink 4",
    ]);
  });

  test("a row that was cut short leaves what is missing unknown", () => {
    expect(short("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tNV4\nGPU1\tNV4")).toEqual([
      "0→1 nvlink 4",
      "0→2 nvlink 4",
      "1→0 nvlink 4",
      "1→2 unknown",
    ]);
  });

  test.each(["", "No devices were found\n", "\u0000\u0001ELF", "GPU0\t X \n"])("%j is no matrix", (text) => {
    expect(readTopology(text)).toEqual([]);
  });
});

test.each([
  ["NV18", "nvlink", 18],
  ["PIX", "pix", 0],
  ["SOC", "sys", 0],
  ["NV", "unknown", 0],
  ["X", "unknown", 0],
  ["", "unknown", 0],
])("%s is %s", (cell, kind, lanes) => {
  expect(linkIn(cell)).toEqual({ kind, lanes });
});

test("any text is read without a throw, and no GPU is linked with itself", () => {
  const cell = fc.oneof(fc.constantFrom("GPU0", "GPU1", "GPU12", " X ", "NV18", "PIX", "", "NIC0"), fc.string());
  const text = fc
    .array(fc.array(cell, { maxLength: 6 }), { maxLength: 6 })
    .map((rows) => rows.map((row) => row.join("\t")).join("\n"));
  fc.assert(
    fc.property(text, (lines) => {
      for (const { from, to, lanes } of readTopology(lines)) {
        expect(from).not.toBe(to);
        expect(lanes).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});
