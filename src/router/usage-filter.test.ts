import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../test/fakes/cut.ts";
import { UsageFilter } from "./usage-filter.ts";

/** What the client gets of a stream that comes in pieces cut at these places. */
function filtered(bytes: Buffer, cuts: readonly number[]): string {
  const filter = new UsageFilter();
  const pieces = cut(bytes, cuts).map((piece) => filter.push(piece.toString("latin1")));
  return [...pieces, filter.finish("")].join("");
}

const content = (text: string): string => `data: {"choices":[{"delta":{"content":${JSON.stringify(text)}}}]}`;
const FINISH = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}';
const USAGE = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":13,"completion_tokens":20,"total_tokens":33}}';

describe("takes out the event of the counts and nothing else", () => {
  test.each([
    { name: "before [DONE]", events: [content("a"), USAGE, "data: [DONE]"], want: [content("a"), "data: [DONE]"] },
    {
      name: "B82 not one with choices in it",
      events: ['data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}'],
    },
    { name: "not one without counts yet", events: ['data: {"choices":[],"usage":null}'] },
    { name: "not one whose text speaks of usage", events: [content('"choices":[],"usage":{"prompt_tokens":1}')] },
    { name: "not an error", events: ['data: {"error":{"message":"\\"usage\\""}}'] },
    { name: "not what is no JSON", events: ['data: "usage" {'] },
    { name: "with its id and name", events: [`event: x\nid: 1\n${USAGE}`], want: [] },
    { name: "but not the comment before it", events: [`: ping\n${USAGE}`], want: [": ping\n"], border: "" },
  ])("$name", ({ events, want, border = "\n\n" }) => {
    const expected = (want ?? events).map((event) => event + border).join("");
    const sent = [FINISH, ...events].map((event) => `${event}\n\n`).join("");
    expect(filtered(Buffer.from(sent), [])).toBe(`${FINISH}\n\n${expected}`);
  });

  test("also when the stream ends without an empty line", () => {
    expect(filtered(Buffer.from(`${FINISH}\n\n${USAGE}`), [])).toBe(`${FINISH}\n\n`);
    expect(filtered(Buffer.from(`${FINISH}\n\n${content("b")}`), [])).toBe(`${FINISH}\n\n${content("b")}`);
  });

  test("B85 an event that never ends goes on as it comes", () => {
    const filter = new UsageFilter();
    filter.push(`${FINISH}\n\n`);
    let passed = 0;
    for (let n = 0; n < 64; n++) passed += filter.push("a".repeat(4_096)).length;
    expect(passed).toBe(64 * 4_096);
  });

  test("before the answer's end nothing is held, not even half an event", () => {
    const filter = new UsageFilter();
    for (const part of ['data: {"cho', "ices", '":[]', ',"usage":{}}\n\n']) expect(filter.push(part)).toBe(part);
  });

  test("a comment line alone is not held: it keeps the connection alive", () => {
    const filter = new UsageFilter();
    filter.push(`${FINISH}\n\n`);
    expect(filter.push(": ping\n")).toBe(": ping\n");
  });

  test.each(["\n", "\r\n"])("not the empty line behind a comment, when it comes with the counts (%j)", (end) => {
    const filter = new UsageFilter();
    filter.push(`${FINISH}${end}${end}`);
    expect(filter.push(`: hi${end}`)).toBe(`: hi${end}`);
    expect(filter.push(`${end}${USAGE}${end}${end}`)).toBe(end);
  });

  test("whatever the pieces, the line ends and the length of the events", () => {
    const ends = fc.constantFrom("\n", "\r\n", "\r");
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.nat({ max: 40_000 }).map((length) => "x".repeat(length)),
    );
    const events = fc.array(
      fc.oneof({ weight: 4, arbitrary: texts.map(content) }, fc.constant(USAGE), fc.constant(": hi")),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(events, ends, fc.array(fc.nat(), { maxLength: 12 }), (list, end, cuts) => {
        const bytesOf = (of: readonly string[]): Buffer => Buffer.from(of.map((event) => event + end + end).join(""));
        const spaced = FINISH.replace(':"stop', ': "stop');
        for (const finish of [FINISH, spaced]) {
          const want = bytesOf([content("a"), finish, ...list.filter((event) => event !== USAGE)]).toString("latin1");
          expect(filtered(bytesOf([content("a"), finish, ...list]), cuts)).toBe(want);
        }
      }),
    );
  });
});
