import { appendFile, mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { readPiece, readTail, setAsideIfLarge, startOfTail } from "./text-log.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-log-"));
afterAll(() => rm(root, { recursive: true, force: true }));

let path = "";
let count = 0;
beforeEach(() => {
  path = join(root, `${String(count++)}.log`);
});

describe("readTail", () => {
  test.each([
    { text: "", lines: 3, want: [] },
    { text: "a", lines: 3, want: ["a"] },
    { text: "a\nb\nc\n", lines: 2, want: ["b", "c"] },
    { text: "a\nb\nc", lines: 2, want: ["b", "c"] },
    { text: "a\n\n\n", lines: 2, want: ["", ""] },
    { text: "a\r\nb\r\n", lines: 1, want: ["b"] },
    { text: "a\nb\n", lines: 0, want: [] },
  ])("$lines of $text", async ({ text, lines, want }) => {
    await writeFile(path, text);
    expect(await readTail(path, lines)).toEqual(want);
  });

  test("of a file that is not there is empty", async () => {
    expect(await readTail(path, 5)).toEqual([]);
  });

  test("does not reach into what was there before", async () => {
    await writeFile(path, "old 1\nold 2\nnew 1\n");
    expect(await readTail(path, 5, 12)).toEqual(["new 1"]);
  });

  test("agrees with cutting the whole text, whatever is in it", async () => {
    const line = fc.string({ unit: fc.constantFrom("a", "é", "北", " "), maxLength: 40_000 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 14 }),
        async (all, n) => {
          fc.pre(Buffer.byteLength(all.slice(-n).join("\n")) < 200_000);
          fc.pre(all.every((text) => Buffer.byteLength(text) < 60_000));
          await writeFile(path, all.map((text) => `${text}\n`).join(""));
          expect(await readTail(path, n)).toEqual(all.slice(-n));
        },
      ),
      { numRuns: 30 },
    );
  });

  test("of a huge log does not read the whole of it", async () => {
    await writeFile(path, "x".repeat(5_000_000));
    expect((await readTail(path, 512)).join("").length).toBeLessThan(300_000);
  });
});

describe("readPiece", () => {
  test("shows of a progress bar what a terminal would show in the end", async () => {
    const path = join(root, "progress.log");
    await writeFile(path, "Loading:   0%\rLoading:  50%\rLoading: 100%\r\nready\r\n\r\nlast\r");
    expect(await readTail(path, 10)).toEqual(["Loading: 100%", "ready", "", "last"]);
  });

  test("follows a file that grows, line by line", async () => {
    await writeFile(path, "one\ntw");
    expect(await readPiece(path, 0, false)).toEqual({ lines: ["one"], next: 4 });
    expect(await readPiece(path, 4, false)).toBeUndefined();
    await appendFile(path, "o\n");
    expect(await readPiece(path, 4, false)).toEqual({ lines: ["two"], next: 8 });
  });

  test("gives an unfinished last line when no more is to come", async () => {
    await writeFile(path, "one\ntw");
    expect(await readPiece(path, 4, true)).toEqual({ lines: ["tw"], next: 6 });
    expect(await readPiece(path, 6, true)).toBeUndefined();
  });

  test("B49 never gives more than 64 KiB at once, even of one line", async () => {
    await writeFile(path, "x".repeat(200_000));
    const piece = await readPiece(path, 0, false);
    expect(piece?.lines.map(({ length }) => length)).toEqual([65_536]);
    expect(piece?.next).toBe(65_536);
  });

  test.each(["é", "北", "😀"])("halves no %s where it cuts an endless line", async (character) => {
    for (let before = 0; before < 4; before++) {
      const text = "x".repeat(before) + character.repeat(40_000);
      await writeFile(path, text);
      let [seen, offset] = ["", 0];
      for (;;) {
        const piece = await readPiece(path, offset, true);
        if (piece === undefined) break;
        seen += piece.lines.join("\n");
        offset = piece.next;
      }
      expect(seen === text).toBe(true);
    }
  });

  test("begins again when the file was cut short", async () => {
    await writeFile(path, "a long line of the past\n");
    await truncate(path, 0);
    await appendFile(path, "new\n");
    expect(await readPiece(path, 24, false)).toEqual({ lines: ["new"], next: 4 });
  });
});

test("the tail begins where its first line does", async () => {
  await writeFile(path, "a\nbb\nccc\n");
  expect(await startOfTail(path, 1)).toBe(5);
  expect(await startOfTail(path, 0)).toBe(9);
});

test("a log over the limit is put aside, in place of the one before", async () => {
  const folder = await mkdtemp(join(root, "aside-"));
  const log = join(folder, "engine.log");
  await writeFile(`${log}.1`, "older");
  await writeFile(log, "12345");
  await setAsideIfLarge(log, 5);
  expect(await readdir(folder)).toEqual(["engine.log", "engine.log.1"]);
  await setAsideIfLarge(log, 4);
  expect(await readdir(folder)).toEqual(["engine.log.1"]);
});
