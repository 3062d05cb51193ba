import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { headerLine, type JournalHeader, parseJournal, rangeLine, syncLine } from "./journal.ts";

const header: JournalHeader = {
  part: ".m.gguf.aa.part",
  url: "https://files.example/m.gguf",
  sha256: undefined,
  size: 100,
  validator: '"v1"',
  boot: "b1",
};

describe("parseJournal", () => {
  test("reads back what was written, and which of it outlasts a power cut", () => {
    const text = headerLine(header) + rangeLine(0, 10) + rangeLine(50, 60) + syncLine(1) + rangeLine(10, 20);
    expect(parseJournal(text)).toEqual({
      header,
      written: [
        { start: 0, end: 20 },
        { start: 50, end: 60 },
      ],
      synced: [{ start: 0, end: 10 }],
    });
  });

  test.each([
    { name: "nothing", text: "" },
    { name: "a torn header", text: headerLine(header).slice(0, -1) },
    { name: "another version", text: '{"version":2,"part":"p","url":"u","boot":"b"}\n' },
    { name: "a part outside the folder", text: headerLine({ ...header, part: "../etc/passwd" }) },
    { name: "no journal at all", text: "hello\n" },
  ])("$name is no journal", ({ text }) => {
    expect(parseJournal(text)).toBeUndefined();
  });

  test.each([
    { name: "past the end of the file", line: rangeLine(90, 101) },
    { name: "backwards", line: rangeLine(9, 3) },
    { name: "not a number", line: "R 1 x\n" },
    { name: "more synced than written", line: syncLine(2) },
  ])("a line that is $name ends what is believed", ({ line }) => {
    const text = headerLine(header) + rangeLine(0, 10) + line + rangeLine(10, 20);
    expect(parseJournal(text)?.written).toEqual([{ start: 0, end: 10 }]);
  });

  test("cut off anywhere, it never claims bytes that were not written", () => {
    const full = headerLine(header) + rangeLine(0, 10) + rangeLine(10, 25) + syncLine(2) + rangeLine(30, 99);
    const all = new Set([...Array(25).keys(), ...Array.from({ length: 69 }, (_, i) => 30 + i)]);
    fc.assert(
      fc.property(fc.nat({ max: full.length }), (length) => {
        const journal = parseJournal(full.slice(0, length));
        for (const { start, end } of journal?.written ?? []) {
          for (let byte = start; byte < end; byte += 1) expect(all.has(byte)).toBe(true);
        }
      }),
    );
  });
});
