import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../../test/fakes/cut.ts";
import { type SseEvent, SseSplitter } from "./splitter.ts";

/** Feeds the bytes in pieces, as reads would bring them. */
function split(bytes: Uint8Array, cuts: readonly number[] = []): readonly SseEvent[] {
  const splitter = new SseSplitter();
  const events = cut(Buffer.from(bytes), cuts).flatMap((piece) => [...splitter.push(piece)]);
  return [...events, ...splitter.finish()];
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("events", () => {
  test.each<{ name: string; text: string; want: readonly SseEvent[] }>([
    { name: "one", text: 'data: {"a":1}\n\n', want: [{ name: "", data: '{"a":1}' }] },
    { name: "a named one", text: "event: ping\ndata: x\n\n", want: [{ name: "ping", data: "x" }] },
    { name: "without the space", text: "event:ping\ndata:x\n\n", want: [{ name: "ping", data: "x" }] },
    { name: "several data lines", text: "data: a\ndata: b\n\n", want: [{ name: "", data: "a\nb" }] },
    { name: "CRLF", text: "data: a\r\n\r\ndata: b\r\n\r\n", want: ["a", "b"].map((data) => ({ name: "", data })) },
    { name: "CR alone", text: "data: a\r\rdata: b\r\r", want: ["a", "b"].map((data) => ({ name: "", data })) },
    {
      name: "B77 comments are none",
      text: ': PROCESSING\n\n:\n\ndata: {"choices":[]}\n\n: x\ndata: [DONE]\n\n',
      want: ['{"choices":[]}', "[DONE]"].map((data) => ({ name: "", data })),
    },
    {
      name: "ids and retry times are read over",
      text: "id: 1\nretry: 5\ndata: a\n\n",
      want: [{ name: "", data: "a" }],
    },
    { name: "a name alone is no event", text: "event: ping\n\ndata: a\n\n", want: [{ name: "", data: "a" }] },
    {
      name: "one that lacks its empty line",
      text: "data: a\n\ndata: b",
      want: ["a", "b"].map((data) => ({ name: "", data })),
    },
    { name: "nothing", text: "", want: [] },
  ])("$name", ({ text, want }) => {
    expect(split(bytesOf(text))).toEqual(want);
  });
});

test("B74 a character that is cut at any byte comes out whole", () => {
  const bytes = bytesOf('data: {"content":"北京🌍"}\n\n');
  for (let cut = 0; cut <= bytes.length; cut++)
    expect(split(bytes, [cut])).toEqual([{ name: "", data: '{"content":"北京🌍"}' }]);
});

test("the same events whatever reads the bytes come in", () => {
  const line = fc.constantFrom("data: ä🌍", "data:", "event: x", ": c", "id: 1", "", "", "data: a: b");
  const end = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(fc.array(fc.tuple(line, end)), fc.array(fc.nat()), (lines, cuts) => {
      const bytes = bytesOf(lines.map(([text, ending]) => text + ending).join(""));
      expect(split(bytes, cuts)).toEqual(split(bytes));
    }),
  );
});

test("B85 an event that never ends is given up, not kept", () => {
  const splitter = new SseSplitter();
  const part = bytesOf(`data: ${"a".repeat(1024 * 1024)}`);
  for (let read = 0; read < 40; read++) expect(splitter.push(part)).toEqual([]);
  expect(splitter.isTooLong).toBe(true);
});
