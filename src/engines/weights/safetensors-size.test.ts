import { expect, test } from "vitest";
import { err, ok } from "../../core/result.ts";
import { safetensorsSize } from "./safetensors-size.ts";

/** The start of a file whose tensors take so many bytes; `padding` makes its header longer. */
function file(size: number, padding = 0): Uint8Array {
  const tensor = { dtype: "U8", shape: [size], data_offsets: [0, size] };
  const header = new TextEncoder().encode(JSON.stringify({ a: tensor, __metadata__: { x: "x".repeat(padding) } }));
  return Buffer.concat([new Uint8Array(new BigUint64Array([BigInt(header.length)]).buffer), header, Buffer.alloc(64)]);
}

const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const INDEX = "model.safetensors.index.json";
const MAP = { weight_map: { a: "1.safetensors", b: "2.safetensors" } };

test.each<{ name: string; files: Readonly<Record<string, Uint8Array>>; want: number | undefined }>([
  { name: "one file", files: { "model.safetensors": file(1000) }, want: 1000 },
  { name: "several", files: { "1.safetensors": file(1000), "2.safetensors": file(7) }, want: 1007 },
  { name: "a header that is longer than the first read", files: { "m.safetensors": file(9, 200_000) }, want: 9 },
  {
    name: "the index says it, so no file is asked",
    files: { [INDEX]: text({ ...MAP, metadata: { total_size: 5 } }), "1.safetensors": text("none") },
    want: 5,
  },
  {
    name: "an index without a size",
    files: { [INDEX]: text(MAP), "1.safetensors": file(3), "2.safetensors": file(4) },
    want: 7,
  },
  { name: "an index that is none", files: { [INDEX]: text("no"), "1.safetensors": file(3) }, want: 3 },
  {
    name: "one of two is no such file",
    files: { "1.safetensors": file(3), "2.safetensors": text("<html>") },
    want: undefined,
  },
  { name: "a file that is cut short", files: { "1.safetensors": file(3, 5000).subarray(0, 100) }, want: undefined },
  { name: "no weights", files: { "config.json": text({}) }, want: undefined },
])("the size of all weights: $name", async ({ files, want }) => {
  const read = (name: string, length: number) => {
    const found = files[name];
    return Promise.resolve(found === undefined ? err("none") : ok(found.subarray(0, length)));
  };
  expect(await safetensorsSize(Object.keys(files), read)).toBe(want);
});

test("a file that cannot be read makes the sum unknown", async () => {
  expect(await safetensorsSize(["1.safetensors"], () => Promise.resolve(err("404")))).toBeUndefined();
});
