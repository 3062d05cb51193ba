import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../test/fakes/cut.ts";
import type { RoutingFields } from "./routing-fields.ts";
import { BodyScanner, DEEPEST_NESTING } from "./scan-body.ts";

function scan(text: string | Buffer, cuts: readonly number[] = []): ReturnType<BodyScanner["finish"]> {
  const scanner = new BodyScanner();
  for (const piece of cut(Buffer.from(text), cuts)) scanner.push(piece);
  return scanner.finish();
}

/** What JSON.parse makes of it; undefined: no object at all. */
function reference(text: string): RoutingFields | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  const { model, stream, stream_options: options } = value as Record<string, unknown>;
  const usable = typeof model === "string" && model !== "" && Buffer.byteLength(model) <= 1024;
  const present: RoutingFields["model"] = usable ? { kind: "name", name: model } : { kind: "unusable" };
  return {
    model: "model" in value ? present : { kind: "missing" },
    stream: stream === true,
    includeUsage: asksForUsage(options),
  };
}

function asksForUsage(options: unknown): boolean {
  return (
    typeof options === "object" && options !== null && "include_usage" in options && options.include_usage === true
  );
}

const name = (model: string, more: Partial<RoutingFields> = {}): RoutingFields => ({
  model: { kind: "name", name: model },
  stream: false,
  includeUsage: false,
  ...more,
});

describe("finds the fields in", () => {
  test.each<[string, string, RoutingFields]>([
    ["a plain body", '{"model":"m","stream":true}', name("m", { stream: true })],
    ["spaces everywhere", ' \n{ "model" :\t"m" , "stream"\r: true } \n', name("m", { stream: true })],
    ["an escaped key", '{"m\\u006fdel":"m"}', name("m")],
    ["an escaped name", '{"model":"a\\/b\\u00e9\\ud83c\\udf0d\\""}', name('a/bé🌍"')],
    ["usage asked for", '{"stream_options":{"include_usage":true},"model":"m"}', name("m", { includeUsage: true })],
    ["usage taken back", '{"stream_options":{"include_usage":true},"model":"m","stream_options":null}', name("m")],
    ["B94 a key twice: the last wins", '{"model":"cheap","messages":[],"model":"big"}', name("big")],
    ["B94 a padded name is another name", '{"model":" big "}', name(" big ")],
    ["a decoy in a nested object", '{"x":{"model":"no","stream":true},"model":"m"}', name("m")],
    ["a decoy in a list", '{"messages":[{"model":"no"}],"model":"m"}', name("m")],
    ["a decoy in a string", '{"x":"\\"model\\":\\"no\\"","model":"m"}', name("m")],
    ["a decoy after many backslashes", '{"x":"\\\\\\\\\\"model\\":\\"no","model":"m"}', name("m")],
    ["a decoy deep in stream_options", '{"stream_options":{"x":{"include_usage":true}},"model":"m"}', name("m")],
    ["include_usage in another object", '{"x":{"include_usage":true},"model":"m"}', name("m")],
    ["numbers of all kinds", '{"a":[-0,0.5,1e9,-1.5E-7,10],"model":"m"}', name("m")],
    ["a stream that is no boolean", '{"stream":"true","model":"m"}', name("m")],
    ["no model", "{}", { ...name(""), model: { kind: "missing" } }],
    ["a model that is null", '{"model":null}', { ...name(""), model: { kind: "unusable" } }],
    ["a model that is a number", '{"model":7}', { ...name(""), model: { kind: "unusable" } }],
    ["a model that becomes a list", '{"model":"m","model":["m"]}', { ...name(""), model: { kind: "unusable" } }],
    ["an empty name", '{"model":""}', { ...name(""), model: { kind: "unusable" } }],
    ["a name of 2000 bytes", `{"model":"${"m".repeat(2000)}"}`, { ...name(""), model: { kind: "unusable" } }],
  ])("%s", (_case, text, want) => {
    expect(scan(text)).toEqual({ ok: true, value: want });
  });
});

test("bytes that are no UTF-8 are the engine's to judge", () => {
  expect(scan(Buffer.from('{"prompt":"\u00ff","model":"m"}', "latin1"))).toEqual({ ok: true, value: name("m") });
});

describe("refuses", () => {
  test.each([
    ["nothing", "", "the body is empty"],
    ["only spaces", "  ", "ends too early"],
    ["a list", "[1]", "not an object"],
    ["a string", '"model"', "not an object"],
    ["a byte-order mark", '\ufeff{"model":"m"}', "not an object"],
    ["a cut", '{"model":"m', "ends too early"],
    ["a missing end", '{"model":"m"', "ends too early"],
    ["something after the end", '{"model":"m"}x', "more after the JSON's end"],
    ["a trailing comma", '{"model":"m",}', "a key is missing at byte 13"],
    ["a trailing comma in a list", '{"a":[1,]}', "a value is missing"],
    ["a missing colon", '{"model" "m"}', "a colon is missing"],
    ["a missing comma", '{"a":1 "b":2}', "a comma or the end"],
    ["the wrong bracket", '{"a":[1}', "a comma or the end"],
    ["a leading zero", '{"a":01}', "a comma or the end"],
    ["half a number", '{"a":1.}', "a number is malformed"],
    ["a bare word", '{"a":nil}', '"null" is misspelt'],
    ["single quotes", "{'model':'m'}", "a key is missing"],
    ["a comment", '{/* */"model":"m"}', "a key is missing"],
    ["a NUL", '{"model":\u0000"m"}', "a value is missing"],
    ["a NUL in the name", '{"model":"m\u0000"}', "bad escape or a raw control character"],
    ["a bad escape in the name", '{"model":"\\x"}', "bad escape"],
    ["nesting without end", '{"a":'.repeat(100_000), `nested deeper than ${String(DEEPEST_NESTING)}`],
    ["lists without end", `{"a":${"[".repeat(100_000)}`, "nested deeper"],
  ])("%s", (_case, text, want) => {
    const result = scan(text);
    expect(result.ok ? "" : result.error).toContain(want);
  });
});

/** Bodies with our keys in every place, some of them escaped. */
const key = fc.oneof(
  fc.constantFrom("model", "stream", "stream_options", "include_usage"),
  fc.string({ maxLength: 5 }),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom<unknown>(true, false, null, "m", "org/name:tag", -0.5, 1e21),
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map((pairs) => new Pairs(pairs)),
  ),
}));

/** An object that may hold a key twice. */
class Pairs {
  readonly pairs: readonly (readonly [string, unknown])[];
  constructor(pairs: readonly (readonly [string, unknown])[]) {
    this.pairs = pairs;
  }
}

/** JSON text with every n-th character of a string as an escape, and spaces between tokens. */
function render(thing: unknown, escapeEvery: number): string {
  if (thing instanceof Pairs) {
    return `{ ${thing.pairs.map(([k, v]) => `${renderString(k, escapeEvery)} :${render(v, escapeEvery)}`).join(" ,")}}`;
  }
  if (Array.isArray(thing)) return `[${thing.map((item) => render(item, escapeEvery)).join(", ")}\n]`;
  return typeof thing === "string" ? renderString(thing, escapeEvery) : JSON.stringify(thing);
}

function renderString(text: string, escapeEvery: number): string {
  const units = [...Array(text.length).keys()].map((index) => {
    const unit = text.charAt(index);
    const isEscaped = escapeEvery > 0 && index % escapeEvery === 0;
    return isEscaped ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}` : JSON.stringify(unit).slice(1, -1);
  });
  // Surrogates that were escaped apart are written as they were; unescaped halves would be lost in UTF-8.
  return `"${units.join("").isWellFormed() ? units.join("") : JSON.stringify(text).slice(1, -1)}"`;
}

const body = fc
  .tuple(fc.array(fc.tuple(key, value), { maxLength: 6 }), fc.nat({ max: 3 }))
  .map(([pairs, escapeEvery]) => render(new Pairs(pairs), escapeEvery));
const cuts = fc.array(fc.nat({ max: 2000 }), { maxLength: 8 });

describe("beside JSON.parse", () => {
  test("finds the same, however the bytes are cut", () => {
    fc.assert(
      fc.property(body, cuts, (text, where) => {
        expect(scan(text, where)).toEqual({ ok: true, value: reference(text) });
      }),
      { numRuns: 500 },
    );
  });

  test("never refuses what JSON.parse takes, and agrees on what it takes, after one byte was changed", () => {
    fc.assert(
      fc.property(
        body,
        fc.nat(),
        fc.constantFrom("{", "}", "[", "]", '"', ",", ":", "\\", " ", "0", ".", "e", "-", "t"),
        (text, where, byte) => {
          const at = where % (text.length + 1);
          const changed = text.slice(0, at) + byte + text.slice(at + 1);
          const want = reference(changed);
          if (want !== undefined && !tooDeep(changed)) expect(scan(changed)).toEqual({ ok: true, value: want });
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("cut between any two bytes, the answer is the same", () => {
    const text =
      '{"a":"\\\\\\"","m\\u006fdel":"北京🌍\\\\","stream":true,"stream_options":{"include_usage":true},"n":-1.5e+3}';
    const whole = scan(text);
    for (let cut = 0; cut <= Buffer.byteLength(text); cut++) expect(scan(text, [cut])).toEqual(whole);
  });
});

const tooDeep = (text: string): boolean => text.split(/[[{]/).length > DEEPEST_NESTING;
