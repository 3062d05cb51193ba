import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../../../test/fakes/cut.ts";
import { ChunkedBody } from "./chunked-body.ts";

/** Feeds the bytes in pieces, as reads would bring them. */
function decode(bytes: Buffer, cuts: readonly number[] = []) {
  const body = new ChunkedBody();
  const out: Buffer[] = [];
  let read = 0;
  for (const piece of cut(bytes, cuts)) {
    if (body.isDone || body.isBad) break;
    const own = Buffer.from(piece);
    out.push(Buffer.from(own.subarray(0, body.decode(own, 0, own.length))));
    read += body.readTo;
  }
  return { text: Buffer.concat(out).toString("latin1"), isDone: body.isDone, isBad: body.isBad, read };
}

describe("reads", () => {
  test.each([
    ["one chunk", "2\r\nok\r\n0\r\n\r\n", "ok"],
    ["several", "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", "abc0123456789"],
    ["nothing", "0\r\n\r\n", ""],
    ["extensions", '2;x;y=z;q="a b;\t\u00e9"\r\nok\r\n0;z\r\n\r\n', "ok"],
    ["B109 trailers, which are dropped", "2\r\nok\r\n0\r\nx-t: 1\r\nx-u:\r\n\r\n", "ok"],
    ["leading zeros", "0002\r\nok\r\n000\r\n\r\n", "ok"],
    ["data that looks like framing", "7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n\r\n"],
  ])("%s", (_name, text, want) => {
    const bytes = Buffer.from(text, "latin1");
    expect(decode(bytes)).toEqual({ text: want, isDone: true, isBad: false, read: bytes.length });
  });
});

describe("refuses", () => {
  test.each([
    ["a size that is none", "x\r\n"],
    ["an empty size", "\r\n"],
    ["a sign", "-2\r\n"],
    ["0x", "0x2\r\nok\r\n"],
    ["a space after the size", "2 \r\nok\r\n"],
    ["a tab before the size", "\t2\r\nok\r\n"],
    ["a size of 13 digits", "1000000000000\r\n"],
    ["a bare line feed after the size", "2\nok"],
    ["a bare carriage return after the size", "2\rok"],
    ["a chunk longer than its size", "2\r\nokay\r\n"],
    ["a bare line feed after the data", "2\r\nok\n"],
    ["an extension without a name", "2;\r\nok\r\n"],
    ["an extension without a value", "2;a=\r\nok\r\n"],
    ["an extension with a space", "2; a\r\nok\r\n"],
    ["an extension with a line feed", "2;a\nb\r\nok\r\n"],
    ["a quoted line end", '2;a="\r\n"\r\nok\r\n'],
    ["an escape", '2;a="\\""\r\nok\r\n'],
    ["more behind a quote", '2;a="b"c\r\nok\r\n'],
    ["a bare line feed in a trailer", "0\r\nx: 1\n\r\n"],
    ["a carriage return inside a trailer", "0\r\nx: \r1\r\n\r\n"],
    ["a folded trailer", "0\r\nx: 1\r\n 2\r\n\r\n"],
    ["a trailer without a colon", "0\r\nx\r\n\r\n"],
    ["a trailer with a space before its colon", "0\r\nx : 1\r\n\r\n"],
    ["a length in a trailer", "0\r\ncontent-length: 1\r\n\r\n"],
    ["a coding in a trailer", "0\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["a connection's option in a trailer", "0\r\nConnection: close\r\n\r\n"],
    ["extensions without end", `2;${"x".repeat(20_000)}`],
    ["extensions without end, a few on each chunk", `1;${"x".repeat(99)}\r\na\r\n`.repeat(200)],
    ["trailers without end", `0\r\n${"x: 1\r\n".repeat(8_000)}`],
  ])("%s", (_name, text) => {
    expect(decode(Buffer.from(text, "latin1"))).toMatchObject({ isDone: false, isBad: true });
  });
});

test("what comes after the end is left", () => {
  expect(decode(Buffer.from("0\r\n\r\nGET / HTTP/1.1"))).toMatchObject({ isDone: true, read: 5 });
});

test("a cut body is not done", () => {
  expect(decode(Buffer.from("5\r\nab"))).toMatchObject({ text: "ab", isDone: false, isBad: false });
});

test("any payload, in any chunks, cut anywhere, comes out as it went in", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 })),
      fc.array(fc.nat({ max: 4_000 })),
      (chunks, cuts) => {
        const framed = chunks.map((chunk) =>
          Buffer.concat([Buffer.from(`${chunk.length.toString(16)};a=b\r\n`), chunk, Buffer.from("\r\n")]),
        );
        const result = decode(Buffer.concat([...framed, Buffer.from("0\r\nx: y\r\n\r\n")]), cuts);
        expect(result).toMatchObject({ text: Buffer.concat(chunks).toString("latin1"), isDone: true });
      },
    ),
  );
});

test("bytes that are no body are refused at the same place however they are cut", () => {
  const piece = fc.constantFrom("2", "0", "\r\n", "ok", ";", "a", "=", '"', "x: y", "\n", "\r", " ");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.array(fc.nat({ max: 60 })), (pieces, cuts) => {
      const bytes = Buffer.from(pieces.join(""));
      expect(decode(bytes, cuts)).toEqual(decode(bytes));
    }),
    { numRuns: 1_000 },
  );
});
