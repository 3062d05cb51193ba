import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSafetensorsHeader, parseSafetensorsIndex } from "./safetensors-header.ts";

const file = (header: string, length: number | bigint = new TextEncoder().encode(header).length): Uint8Array =>
  Buffer.concat([new Uint8Array(new BigUint64Array([BigInt(length)]).buffer), new TextEncoder().encode(header)]);

const tensor = (dtype: string, shape: readonly number[], offsets: readonly number[]) => ({
  dtype,
  shape,
  data_offsets: offsets,
});

test("tensors are counted and their bytes summed, types that share a byte too", () => {
  const header = {
    __metadata__: { format: "pt" },
    a: tensor("BF16", [4, 8], [0, 64]),
    b: tensor("F4", [3], [64, 66]),
    scalar: tensor("F32", [], [66, 70]),
    empty: tensor("F8_E4M3", [0, 5], [70, 70]),
  };
  expect(parseSafetensorsHeader(file(JSON.stringify(header)))).toEqual({
    ok: true,
    value: { tensors: 4, bytes: 70, elements: { BF16: 32, F4: 3, F32: 1, F8_E4M3: 0 } },
  });
});

describe("what is refused, and what only ends too early", () => {
  test.each([
    { name: "nothing", bytes: new Uint8Array(3), want: { kind: "more", bytes: 8 } },
    { name: "the length alone", bytes: file("", 120), want: { kind: "more", bytes: 128 } },
    { name: "a header of 2^63 bytes", bytes: file("{}", 2n ** 63n), want: { kind: "invalid" } },
    { name: "a header of 26 MB", bytes: file("{}", 26_000_000), want: { kind: "invalid" } },
    { name: "no JSON", bytes: file("{a"), want: { kind: "invalid" } },
    { name: "a list", bytes: file("[]"), want: { kind: "invalid" } },
    { name: "a tensor that is null", bytes: file('{"a":null}'), want: { kind: "invalid" } },
    {
      name: "a type of tomorrow",
      bytes: file(JSON.stringify({ a: tensor("F2", [1], [0, 1]) })),
      want: { kind: "invalid" },
    },
    {
      name: "a negative size",
      bytes: file(JSON.stringify({ a: tensor("U8", [-1], [0, 0]) })),
      want: { kind: "invalid" },
    },
    {
      name: "a size beyond counting",
      bytes: file(JSON.stringify({ a: tensor("U8", [2 ** 40, 2 ** 40], [0, 1]) })),
      want: { kind: "invalid" },
    },
    {
      name: "another size than its place has",
      bytes: file(JSON.stringify({ a: tensor("F16", [2], [0, 8]) })),
      want: { kind: "invalid" },
    },
  ])("$name", ({ bytes, want }) => {
    expect(parseSafetensorsHeader(bytes)).toMatchObject({ ok: false, error: want });
  });

  test("no bytes whatever make it throw", () => {
    const json = fc.json().map((text) => file(text));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), json), (bytes) => {
        const result = parseSafetensorsHeader(bytes);
        if (!result.ok && result.error.kind === "more") expect(result.error.bytes).toBeGreaterThan(bytes.length);
      }),
    );
  });
});

describe("the index of a model in several files", () => {
  test("each file is named once, with the size of all", () => {
    const index = {
      metadata: { total_size: 300 },
      weight_map: { a: "1.safetensors", b: "2.safetensors", c: "1.safetensors" },
    };
    expect(parseSafetensorsIndex(JSON.stringify(index))).toEqual({
      ok: true,
      value: { totalSize: 300, files: ["1.safetensors", "2.safetensors"] },
    });
  });

  test.each(["", "null", "{}", '{"weight_map":{}}', '{"weight_map":7}'])("%s is no index", (text) => {
    expect(parseSafetensorsIndex(text).ok).toBe(false);
  });

  test.each(["-5", '"300"', "1e400", "1.5"])("a total size of %s is none", (size) => {
    const text = `{"metadata":{"total_size":${size}},"weight_map":{"a":"1.safetensors"}}`;
    expect(parseSafetensorsIndex(text)).toMatchObject({ ok: true, value: { totalSize: undefined } });
  });
});
