import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../test/fakes/cut.ts";
import { OpenBody } from "./open-body.ts";
import { isSettled, Passing } from "./passing.ts";
import { BodyScanner } from "./scan-body.ts";

/** Passes a body on whose first piece is held, and answers what an engine gets of the rest, or what is wrong. */
function pass(pieces: readonly Buffer[], asksUsage: boolean): string {
  const scanner = new BodyScanner();
  const [held = Buffer.alloc(0), ...rest] = pieces;
  scanner.push(held);
  if (!isSettled(scanner.soFar())) return "not settled";
  const open = new OpenBody(new Readable({ read: () => undefined }), true);
  open.asksUsage = false;
  const passing = new Passing(open, scanner.soFar(), [held]);
  open.asksUsage = asksUsage;
  const out: Buffer[] = [held];
  open.attach({
    sendMore: (parts) => {
      // Of each chunk its framing is the first and the last part.
      out.push(...(asksUsage ? parts.slice(1, -1) : parts));
      return true;
    },
    onceDrained: () => undefined,
    finish: () => undefined,
  });
  for (const piece of rest) {
    scanner.push(piece);
    const problem = passing.pass(piece, scanner.soFar());
    if (problem !== undefined) return problem;
  }
  const fields = scanner.finish();
  if (!fields.ok) return fields.error;
  passing.finish();
  return Buffer.concat(out).toString("utf8");
}

const HELD = '{"model":"m","messages":["é';

/** What is held is one piece; the rest is cut at these places. */
const cutAfterHeld = (rest: string, cuts: readonly number[]): readonly Buffer[] => [
  Buffer.from(HELD),
  ...cut(Buffer.from(rest), cuts).filter(({ length }) => length > 0),
];

describe("the rest of a body", () => {
  test.each([
    '"]}',
    '"],"stream":true,"stream_options":{"include_usage":true}}  ',
    '","b"],"x":{"model":"y"},"stream":false}\n',
  ])("is passed on as it is: %s", (rest) => {
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        expect(pass(cutAfterHeld(rest, cuts), false)).toBe(HELD + rest);
      }),
    );
  });

  test.each([
    { rest: '"],"stream":true}', options: { include_usage: true } },
    { rest: '"],"stream":true } \n', options: { include_usage: true } },
    { rest: '"],"stream_options":{"a":"\u{1f600}"},"stream":true}', options: { a: "\u{1f600}", include_usage: true } },
    { rest: '"],"stream_options":{"include_usage":false},"stream":true}', options: { include_usage: true } },
    { rest: '"],"stream_options":null,"stream":true}', options: { include_usage: true } },
    { rest: '"],"stream_options":[],"stream":true}', options: { include_usage: true } },
    { rest: '"],"stream":true,"stream":false}', options: undefined },
    { rest: '"]}', options: undefined },
  ])("asks for counts at its end, where that is wanted: $rest", ({ rest, options }) => {
    // A value in more than two pieces is not put together again: here none is cut twice.
    fc.assert(
      fc.property(fc.nat(), (place) => {
        const got = pass(cutAfterHeld(rest, [place]), true);
        const value = JSON.parse(got) as Readonly<Record<string, unknown>>;
        expect(value["stream_options"]).toEqual(options);
        expect(value["messages"]).toEqual(["é"]);
      }),
    );
  });

  test.each([
    { rest: '"],"model":"x"}', want: /a second time/ },
    { rest: '"],"model":"m"}', want: /a second time/ },
    { rest: '"],"mod\\u0065l":"m"}', want: /a second time/ },
    { rest: '"}', want: /missing at byte/ },
    { rest: '"]}x', want: /more after/ },
    { rest: '"]', want: /too early/ },
  ])("may not turn out to be something else: $rest", ({ rest, want }) => {
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        expect(pass(cutAfterHeld(rest, cuts), false)).toMatch(want);
      }),
    );
  });
});

test.each([
  { held: '{"messages":["', name: "no model yet" },
  { held: '{"model":', name: "a model that is not there yet" },
  { held: '{"model":null,"messages":["', name: "no name" },
  { held: '{"model":"m","messages":[]}', name: "an end" },
  { held: '{"model":"m",]', name: "no JSON" },
])("with $name it is not known whom to ask", ({ held }) => {
  const scanner = new BodyScanner();
  scanner.push(Buffer.from(held));
  expect(isSettled(scanner.soFar())).toBe(false);
});
