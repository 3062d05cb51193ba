import fc from "fast-check";
import { expect, test } from "vitest";
import { sseData } from "./sse-data.ts";

async function* inChunks(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  for (const size of sizes) {
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
  yield bytes.subarray(at);
}

const read = async (text: string, sizes: readonly number[]): Promise<string[]> => {
  const found: string[] = [];
  for await (const data of sseData(inChunks(text, sizes))) found.push(data);
  return found;
};

test.each(["\n", "\r\n"])("events, comments and several data lines, with %j as line end", async (end) => {
  const text = [
    ": ping",
    "",
    'data: {"a":"é"}',
    "",
    "event: x",
    "data:1",
    "data: 2",
    "",
    "data: [DONE]",
    "",
    "data: cut",
  ].join(end);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 9 })), async (sizes) => {
      expect(await read(text, sizes)).toEqual(['{"a":"é"}', "1\n2", "[DONE]"]);
    }),
  );
});
