import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../test/fakes/cut.ts";
import type { ModelField } from "./routing-fields.ts";
import { FormScanner } from "./scan-form.ts";

const part = (head: string, value: string): string => `--XX\r\n${head}\r\n\r\n${value}\r\n`;
const field = (name: string, value: string): string => part(`Content-Disposition: form-data; name="${name}"`, value);
const FILE = part(
  'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav',
  "RIFF\r\n--X\r\n\r\n--XY\0\xff",
);
const END = "--XX--\r\n";

/** Feeds the bytes in pieces, as reads would bring them. */
function scan(text: string, cuts: readonly number[] = []) {
  const scanner = new FormScanner("XX");
  for (const piece of cut(Buffer.from(text, "latin1"), cuts)) scanner.push(piece);
  return scanner.finish();
}

const named = (name: string): ModelField => ({ kind: "name", name });

describe("finds the model", () => {
  test.each<[string, string, ModelField]>([
    ["before the file", field("model", "whisper") + FILE + END, named("whisper")],
    ["behind the file", FILE + field("model", "org/whisper:1") + END, named("org/whisper:1")],
    ["in a head of other words", part("content-disposition:form-data; name=model", "w") + END, named("w")],
    ["with a preamble and an epilogue", `hello\r\n${field("model", "w")}${END}--XX\r\nmore`, named("w")],
    ["of characters beyond ASCII", field("model", Buffer.from("ü").toString("latin1")) + END, named("ü")],
    ["nowhere", FILE + END, { kind: "missing" }],
    [
      "as a file's content",
      part('Content-Disposition: form-data; name="model"; filename="m"', "w") + END,
      { kind: "missing" },
    ],
    ["empty", field("model", "") + END, { kind: "unusable" }],
    ["longer than any", field("model", "w".repeat(5_000)) + END, { kind: "unusable" }],
  ])("%s", (_name, text, want) => {
    expect(scan(text)).toMatchObject({ ok: true, value: { model: want } });
  });
});

test("a stream is asked for in words", () => {
  expect(scan(field("stream", "true") + END)).toMatchObject({ ok: true, value: { stream: true } });
});

describe("refuses", () => {
  test.each([
    ["a form without its end", field("model", "w"), "last boundary"],
    ["an empty body", "", "last boundary"],
    ["JSON", '{"model":"w"}', "last boundary"],
    ["B94 two models", field("model", "cheap") + field("model", "big") + END, "twice"],
    ["a head without end", `--XX\r\n${"x".repeat(20_000)}`, "does not end"],
  ])("%s", (_name, text, want) => {
    expect(scan(text)).toMatchObject({ ok: false, error: expect.stringContaining(want) as string });
  });
});

test("the same whatever reads the bytes come in", () => {
  const text = FILE + field("model", "w") + field("stream", "true") + field("empty", "") + END;
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      expect(scan(text, cuts)).toEqual({ ok: true, value: { model: named("w"), stream: true, includeUsage: false } });
    }),
  );
});

test("tells where the model stands, whatever reads the bytes come in", () => {
  const text = `hello\r\n${FILE}${field("model", "org/w")}${field("stream", "true")}${END}`;
  const bytes = Buffer.from(text, "latin1");
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      const scanner = new FormScanner("XX");
      for (const piece of cut(bytes, cuts)) scanner.push(piece);
      const { model, isForm } = scanner.spans();
      expect([bytes.toString("latin1", model?.start, model?.end), isForm]).toEqual(["org/w", true]);
    }),
  );
});
