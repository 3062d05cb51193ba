import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../../test/fakes/cut.ts";
import { ChunkedDecoder } from "./chunked.ts";

/** Feeds the bytes in pieces, as reads would bring them. */
function decode(bytes: Buffer, cuts: readonly number[] = []) {
  const decoder = new ChunkedDecoder();
  const out: Buffer[] = [];
  for (const piece of cut(bytes, cuts)) {
    const read = Buffer.from(piece);
    out.push(Buffer.from(read.subarray(0, decoder.decode(read, 0, read.length))));
  }
  return {
    text: Buffer.concat(out).toString("latin1"),
    isDone: decoder.isDone,
    isBad: decoder.isBad,
    surplus: decoder.surplus,
  };
}

describe("reads", () => {
  test.each([
    ["one chunk", "2\r\nok\r\n0\r\n\r\n", "ok"],
    ["several", "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", "abc0123456789"],
    ["nothing", "0\r\n\r\n", ""],
    ["extensions", '2;x="y"\r\nok\r\n0;z\r\n\r\n', "ok"],
    ["B109 trailers, which are dropped", "2\r\nok\r\n0\r\nx-t: 1\r\nx-u: 2\r\n\r\n", "ok"],
    ["leading zeros", "0002\r\nok\r\n000\r\n\r\n", "ok"],
    ["data that looks like framing", "7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n\r\n"],
  ])("%s", (_name, text, want) => {
    expect(decode(Buffer.from(text, "latin1"))).toEqual({ text: want, isDone: true, isBad: false, surplus: 0 });
  });
});

describe("refuses", () => {
  test.each([
    ["a size that is none", "x\r\n"],
    ["an empty size", "\r\n"],
    ["a sign", "-2\r\n"],
    ["a size of 13 digits", "1000000000000\r\n"],
    ["a bare line feed after the size", "2\nok"],
    ["a chunk longer than its size", "2\r\nokay\r\n"],
    ["a bare line feed after the data", "2\r\nok\n"],
    ["a bare line feed in a trailer", "0\r\nx: 1\n\r\n"],
    ["a carriage return inside a trailer", "0\r\nx: \r1\r\n\r\n"],
    ["extensions without end", `2;${"x".repeat(20_000)}`],
    ["trailers without end", `0\r\n${"x: 1\r\n".repeat(8_000)}`],
  ])("%s", (_name, text) => {
    expect(decode(Buffer.from(text, "latin1"))).toMatchObject({ isDone: false, isBad: true });
  });
});

test("says how much came after the end", () => {
  expect(decode(Buffer.from("0\r\n\r\nHTTP/1.1"))).toMatchObject({ isDone: true, surplus: 8 });
});

test("a cut body is not done", () => {
  expect(decode(Buffer.from("5\r\nab"))).toEqual({ text: "ab", isDone: false, isBad: false, surplus: 0 });
});

test("any payload, in any chunks, cut anywhere, comes out as it went in", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 })),
      fc.array(fc.nat({ max: 4_000 })),
      (chunks, cuts) => {
        const framed = chunks.map((chunk) =>
          Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]),
        );
        const result = decode(Buffer.concat([...framed, Buffer.from("0\r\n\r\n")]), cuts);
        expect(result).toMatchObject({ text: Buffer.concat(chunks).toString("latin1"), isDone: true });
      },
    ),
  );
});
