import { expect, test } from "vitest";
import { Redraw } from "./redraw.ts";

function terminal(columns: number, rows = 10) {
  const written: string[] = [];
  const stream = { isTTY: true, columns, rows, write: (text: string) => written.push(text) > 0 };
  return { stream, written };
}

const UP_2 = "\u001b[2A\u001b[0J";

test("the next picture goes over the one before, and the same one is not drawn again", () => {
  const { stream, written } = terminal(20);
  const redraw = new Redraw(stream);
  redraw.show(["a", "b"]);
  redraw.show(["a", "b"]);
  redraw.show(["c"]);
  redraw.clear();
  expect(written).toEqual(["a\nb\n", `${UP_2}c\n`, "\u001b[1A\u001b[0J"]);
});

test("a note stays above the picture", () => {
  const { stream, written } = terminal(20);
  const redraw = new Redraw(stream);
  redraw.show(["a", "b"]);
  redraw.note("so be it\n");
  expect(written.at(-1)).toBe(`${UP_2}so be it\na\nb\n`);
});

test("a window that became narrower has folded the lines: the screen is cleared instead of counted", () => {
  const { stream, written } = terminal(20);
  const redraw = new Redraw(stream);
  redraw.show(["\u001b[1mtwelve chars\u001b[22m"]);
  stream.columns = 12;
  redraw.show(["fits"]);
  expect(written.at(-1)).toBe("\u001b[1A\u001b[0Jfits\n");
  redraw.show(["twelve chars"]);
  stream.columns = 11;
  redraw.show(["fits"]);
  expect(written.at(-1)).toBe("\u001b[2J\u001b[Hfits\n");
});

test.each([{}, { columns: 0, rows: 0 }])(
  "a terminal of the size %j has 80 columns and 24 rows, one the cursor's",
  (size) => {
    const redraw = new Redraw({ ...size, write: () => true });
    expect([redraw.columns, redraw.rows]).toEqual([80, 23]);
  },
);
