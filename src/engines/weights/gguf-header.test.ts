import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GgufWriter } from "../llamacpp/gguf-writer.ts";
import { tinyGguf } from "../llamacpp/tiny-gguf.ts";
import { ggufFacts, splitCount } from "./gguf-facts.ts";
import { type GgufHeader, MAX_HEADER, parseGgufHeader } from "./gguf-header.ts";

const utf8 = new TextEncoder();

/** Little-endian pieces, for headers that no honest writer makes. */
const u32 = (value: number): Uint8Array => new Uint8Array(new Uint32Array([value]).buffer);
const u64 = (value: number | bigint): Uint8Array => new Uint8Array(new BigUint64Array([BigInt(value)]).buffer);
const text = (value: string): Uint8Array => Buffer.concat([u64(utf8.encode(value).length), utf8.encode(value)]);
const head = (pairs: number | bigint, version = 3): Uint8Array =>
  Buffer.concat([utf8.encode("GGUF"), u32(version), u64(0), u64(pairs)]);
const key = (name: string, type: number): Uint8Array => Buffer.concat([text(name), u32(type)]);

const parsed = (bytes: Uint8Array): GgufHeader => {
  const result = parseGgufHeader(bytes);
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
};

const failure = (...parts: readonly Uint8Array[]): string => {
  const result = parseGgufHeader(Buffer.concat(parts));
  return result.ok ? "read" : `${result.error.kind}: ${result.error.message}`;
};

describe("what is refused, and what only ends too early", () => {
  test.each([
    { name: "nothing at all", parts: [], want: "more: need more bytes: 4" },
    { name: "half of the first word", parts: [utf8.encode("GG")], want: "more: need more bytes: 4" },
    { name: "another file", parts: [utf8.encode("PK\u0003\u0004 and so on")], want: /^invalid: .*no GGUF file/ },
    { name: "version 1, which counts otherwise", parts: [head(0, 1)], want: /^invalid: .*version 1;/ },
    { name: "a big-endian file", parts: [head(0, 0x0300_0000)], want: /^invalid: .*big-endian/ },
    { name: "2^63 keys", parts: [head(2n ** 63n)], want: /^invalid: the number of keys/ },
    { name: "a million keys", parts: [head(1_000_000)], want: /^invalid: it claims 1000000 keys/ },
    { name: "a key of 4 GiB", parts: [head(1), u64(2 ** 32)], want: /^invalid: a key claims/ },
    { name: "a key that is cut", parts: [head(1), u64(10), utf8.encode("gen")], want: "more: need more bytes: 42" },
    {
      name: "a text of 2^60 bytes",
      parts: [head(1), key("a", 8), u64(2n ** 60n)],
      want: /^invalid: the length of a is 1152921504606846976/,
    },
    { name: "a text of 1 TiB", parts: [head(1), key("a", 8), u64(2 ** 40)], want: /^invalid: a would end/ },
    { name: "a list of 2^50 numbers", parts: [head(1), key("a", 9), u32(4), u64(2 ** 50)], want: /^invalid: a would/ },
    { name: "a list of 2^30 texts", parts: [head(1), key("a", 9), u32(8), u64(2 ** 30)], want: /^invalid: a would/ },
    { name: "a list of 2^30 lists", parts: [head(1), key("a", 9), u32(9), u64(2 ** 30)], want: /^invalid: a would/ },
    {
      name: "lists within lists without end",
      parts: [head(1), key("a", 9), ...Array.from({ length: 6 }, () => [u32(9), u64(1)]).flat()],
      want: /^invalid: .*lists within lists/,
    },
    { name: "a type that there is not", parts: [head(1), key("a", 13)], want: /^invalid: a has the type 13/ },
    {
      name: "a list whose numbers are cut",
      parts: [head(1), key("a", 9), u32(4), u64(8), u32(1)],
      want: "more: need more bytes: 81",
    },
  ])("$name", ({ parts, want }) => {
    const said = failure(...parts);
    if (typeof want === "string") expect(said).toBe(want);
    else expect(said).toMatch(want);
  });
});

test("our own tiny model, from any prefix: enough bytes are asked for step by step, and never more than there are", () => {
  const whole = tinyGguf();
  let length = 0;
  for (let asked = 0; asked < 10_000; asked += 1) {
    const result = parseGgufHeader(whole.subarray(0, length));
    if (result.ok) break;
    if (result.error.kind !== "more") throw new Error(result.error.message);
    expect(result.error.bytes).toBeGreaterThan(length);
    expect(result.error.bytes).toBeLessThanOrEqual(whole.length);
    length = result.error.bytes;
  }
  const facts = ggufFacts(parsed(whole.subarray(0, length)));
  expect(facts).toEqual({
    format: "gguf",
    architecture: "llama",
    layers: 2,
    heads: 4,
    kvHeads: [4],
    keyLength: 16,
    valueLength: 16,
    latent: undefined,
    embedding: 64,
    slidingWindow: undefined,
    slidingLayers: 0,
    contextLength: 32_768,
    vocabulary: 260,
    experts: undefined,
  });
});

test("whatever the writer writes is read as it was written, and its long lists are only counted", () => {
  const name = fc.stringMatching(/^[a-z][a-z._]{0,30}$/);
  const entry = fc.oneof(
    fc.record({ kind: fc.constant("uint32" as const), value: fc.nat({ max: 2 ** 32 - 1 }) }),
    fc.record({ kind: fc.constant("string" as const), value: fc.string({ unit: "grapheme", maxLength: 40 }) }),
    fc.record({ kind: fc.constant("strings" as const), value: fc.array(fc.string(), { maxLength: 20 }) }),
    fc.record({ kind: fc.constant("int32s" as const), value: fc.array(fc.integer({ min: -5, max: 2 ** 31 - 1 })) }),
  );
  fc.assert(
    fc.property(fc.dictionary(name, entry, { maxKeys: 12 }), (entries) => {
      const writer = new GgufWriter();
      for (const [at, { kind, value }] of Object.entries(entries)) {
        if (kind === "uint32") writer.uint32(at, value);
        else if (kind === "string") writer.string(at, value);
        else if (kind === "strings") writer.strings(at, value);
        else writer.int32s(at, value);
      }
      const { values, lengths } = parsed(writer.bytes([]));
      for (const [at, { kind, value }] of Object.entries(entries)) {
        if (kind !== "strings") expect(values.get(at)).toEqual(value);
        if (typeof value === "object") expect(lengths.get(at)).toBe(value.length);
      }
    }),
  );
});

test("no bytes whatever make it throw, and what it asks for is bounded", () => {
  const damaged = fc.tuple(fc.nat({ max: 4000 }), fc.uint8Array({ minLength: 1, maxLength: 16 })).map(([at, junk]) => {
    const bytes = tinyGguf().slice(0, 6000);
    bytes.set(junk, at + 4);
    return bytes;
  });
  const any = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.uint8Array().map((rest) => Buffer.concat([head(3), rest])),
    damaged,
  );
  fc.assert(
    fc.property(any, (bytes) => {
      const result = parseGgufHeader(bytes);
      if (result.ok) {
        ggufFacts(result.value);
      } else if (result.error.kind === "more") {
        expect(result.error.bytes).toBeGreaterThan(bytes.length);
        expect(result.error.bytes).toBeLessThanOrEqual(MAX_HEADER);
      }
    }),
  );
});

describe("what the header says of the shape", () => {
  const written = (fill: (writer: GgufWriter) => void): GgufHeader => {
    const writer = new GgufWriter();
    fill(writer);
    return parsed(writer.bytes([]));
  };

  test("a number of key and value heads for each layer, some without", () => {
    const header = written((writer) => {
      writer.string("general.architecture", "jamba");
      writer.uint32("jamba.block_count", 4);
      writer.int32s("jamba.attention.head_count_kv", [0, 8, 0, 8]);
      writer.uint32("jamba.attention.head_count", 32);
    });
    expect(ggufFacts(header)).toMatchObject({ kvHeads: [0, 8, 0, 8], heads: 32, layers: 4 });
  });

  test("heads that differ from layer to layer are unknown, not 1", () => {
    const header = written((writer) => {
      writer.string("general.architecture", "x");
      writer.int32s("x.attention.head_count", [8, 16]);
    });
    expect(ggufFacts(header)).toMatchObject({ heads: undefined, kvHeads: [] });
  });

  test.each([
    { name: "a list of layers", architecture: "new", list: [1, 1, 0, 1], want: 3 },
    { name: "every sixth layer keeps all", architecture: "gemma3", list: undefined, want: 10 },
    {
      name: "an architecture that says nothing: all layers are taken to keep all",
      architecture: "new",
      list: undefined,
      want: 0,
    },
  ])("a sliding window by $name", ({ architecture, list, want }) => {
    const header = written((writer) => {
      writer.string("general.architecture", architecture);
      writer.uint32(`${architecture}.block_count`, 12);
      writer.uint32(`${architecture}.attention.sliding_window`, 1024);
      if (list !== undefined) writer.int32s(`${architecture}.attention.sliding_window_pattern`, list);
    });
    expect(ggufFacts(header)).toMatchObject({ slidingWindow: 1024, slidingLayers: want });
  });

  test("a header of another kind altogether: everything is unknown", () => {
    const header = written((writer) => {
      writer.uint32("general.architecture", 7);
      writer.uint32("split.count", 3);
    });
    expect(ggufFacts(header)).toMatchObject({ architecture: "", layers: undefined, heads: undefined, kvHeads: [] });
    expect(splitCount(header)).toBe(3);
  });
});
