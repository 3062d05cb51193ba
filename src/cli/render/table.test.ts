import pc from "picocolors";
import { expect, test } from "vitest";
import { type Column, table } from "./table.ts";
import { cut, cutColoured, displayWidth, oneLine, withoutColours } from "./text.ts";

interface Row {
  readonly name: string;
  readonly ready: number;
  readonly note: string;
}

const columns: readonly Column<Row>[] = [
  { header: "NAME", cell: (row) => row.name },
  { header: "READY", cell: (row) => String(row.ready), right: true },
  { header: "NOTE", cell: (row) => row.note },
  { header: "EXTRA", cell: () => "x", wide: true },
];
const rows: readonly Row[] = [
  { name: "qwen3-32b", ready: 2, note: "" },
  { name: "phi", ready: 12, note: "fetching model.gguf\n45%" },
];
const plain = pc.createColors(false);

test("aligned, without borders, one line a row, an empty cell is a dash", () => {
  expect(table(columns, rows, { width: undefined, colours: plain })).toBe(
    ["NAME       READY  NOTE", "qwen3-32b      2  -", "phi           12  fetching model.gguf 45%", ""].join("\n"),
  );
});

test("wide shows every column", () => {
  expect(table(columns, rows, { width: undefined, colours: plain, wide: true })).toContain("EXTRA");
});

test.each([10, 20, 24, 80])("never wraps on a terminal of %i columns", (width) => {
  for (const line of table(columns, rows, { width, colours: plain }).split("\n")) {
    expect(displayWidth(line)).toBeLessThanOrEqual(width);
  }
});

test("cutting never leaves a colour open", () => {
  const coloured = columns.map((column) => ({ ...column, colour: () => pc.createColors(true).red }));
  const text = table(coloured, rows, { width: 14, colours: pc.createColors(true) });
  const opened = text.split("\u001b[31m").length;
  expect(text.split("\u001b[39m").length).toBe(opened);
});

test.each([
  { text: "short", width: 10, want: "short" },
  { text: "a longer text", width: 8, want: "a longe…" },
  { text: "日本語テキスト", width: 7, want: "日本語…" },
  { text: "anything", width: 0, want: "" },
])("cut $text to $width", ({ text, width, want }) => {
  expect(cut(text, width)).toBe(want);
});

test("an engine's escape sequences cannot drive the terminal", () => {
  expect(oneLine("bad\u001b[2J\u0007thing\r\nnext")).toBe("bad [2J thing next");
});

test.each([0, 1, 4, 6, 9, 10, 11, 40])("a coloured text is cut to %i columns of what is read", (width) => {
  const { red, bold } = pc.createColors(true);
  const text = `${bold("ab")} ${red("cdef")} 日本`;
  const shown = cutColoured(text, width);
  expect(withoutColours(shown)).toBe(cut(withoutColours(text), width));
  expect(shown.match(/\u001b\[/g)).toHaveLength(4);
});
