import fc from "fast-check";
import { expect, test } from "vitest";
import { withFields, withUsage } from "./ask-usage.ts";
import { BodyScanner } from "./scan-body.ts";

/** The body as it is sent on, and its length as it is told. */
function asking(text: string, cut = 0): { readonly text: string; readonly bytes: number } {
  const bytes = Buffer.from(text);
  const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)];
  const scanner = new BodyScanner();
  for (const chunk of chunks) scanner.push(chunk);
  expect(scanner.finish().ok).toBe(true);
  const body = withUsage({ chunks, bytes: bytes.length }, scanner.spans());
  return { text: Buffer.concat(body.chunks).toString(), bytes: body.bytes };
}

test.each([
  ['{"model":"m"}', '{"model":"m","stream_options":{"include_usage":true}}'],
  ['{"model":"m" } \n', '{"model":"m" ,"stream_options":{"include_usage":true}} \n'],
  ['{"stream_options":{},"model":"m"}', '{"stream_options":{"include_usage":true},"model":"m"}'],
  ['{"stream_options":{ },"model":"m"}', '{"stream_options":{ "include_usage":true},"model":"m"}'],
  ['{"stream_options":null,"model":"m"}', '{"stream_options":{"include_usage":true},"model":"m"}'],
  ['{"stream_options":[1],"model":"m"}', '{"stream_options":{"include_usage":true},"model":"m"}'],
  ['{"stream_options":{"include_usage":false},"model":"m"}', '{"stream_options":{"include_usage":true},"model":"m"}'],
  [
    '{"stream_options":{"include_usage":{"a":[]},"b":1},"m":2}',
    '{"stream_options":{"include_usage":true,"b":1},"m":2}',
  ],
  [
    '{"stream_options":{"a":{"include_usage":1}},"m":2}',
    '{"stream_options":{"a":{"include_usage":1},"include_usage":true},"m":2}',
  ],
  ['{"a":{"stream_options":1},"m":2}', '{"a":{"stream_options":1},"m":2,"stream_options":{"include_usage":true}}'],
  [
    '{"stream_options":{"x":1},"stream_options":2}',
    '{"stream_options":{"x":1},"stream_options":{"include_usage":true}}',
  ],
])("%s asks for counts, and every other byte stays", (text, want) => {
  expect(asking(text)).toEqual({ text: want, bytes: Buffer.byteLength(want) });
});

test("B96 whatever else is in a body, in whatever pieces: only that option changes, and the length is what is sent", () => {
  const options = fc.oneof(
    fc.constant(undefined),
    fc.jsonValue(),
    fc.record({ include_usage: fc.jsonValue(), other: fc.jsonValue() }, { requiredKeys: [] }),
  );
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      options,
      fc.nat(),
      fc.nat({ max: 4 }),
      (rest, given, cut, indent) => {
        const body = { ...rest, model: "mé", ...(given === undefined ? {} : { stream_options: given }) };
        const text = JSON.stringify(body, null, indent);
        const asked = asking(text, cut % (Buffer.byteLength(text) + 1));
        expect(asked.bytes).toBe(Buffer.byteLength(asked.text));
        const kept = typeof given === "object" && given !== null && !Array.isArray(given) ? given : {};
        expect(JSON.parse(asked.text)).toEqual(
          JSON.parse(JSON.stringify({ ...body, stream_options: { ...kept, include_usage: true } })),
        );
      },
    ),
  );
});

test("further fields count whatever the body said of them, in whatever pieces it came; every byte of it stays", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), fc.nat(), (rest, given, cut) => {
      const text = `${JSON.stringify({ ...rest, model: "m", lora: given })} \n`;
      const bytes = Buffer.from(text);
      const at = cut % (bytes.length + 1);
      const body = { chunks: [bytes.subarray(0, at), bytes.subarray(at)], bytes: bytes.length };
      const filled = withFields(body, { lora: '[{"id":0}]', "a b": "null" });
      const sent = Buffer.concat(filled.chunks).toString();
      expect(filled.bytes).toBe(Buffer.byteLength(sent));
      expect(sent.replace(',"lora":[{"id":0}],"a b":null} \n', "} \n")).toBe(text);
      expect(JSON.parse(sent)).toEqual({ ...(JSON.parse(text) as object), lora: [{ id: 0 }], "a b": null });
    }),
  );
});

test("no further fields: the same body", () => {
  const body = { chunks: [Buffer.from("{}")], bytes: 2 };
  expect(withFields(body, {})).toBe(body);
});
