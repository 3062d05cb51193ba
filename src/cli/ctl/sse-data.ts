import { SseSplitter } from "../../wire/sse/splitter.ts";

/** The data of each event of an event stream. An event without its blank line was cut off and is left out. */
export async function* sseData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const splitter = new SseSplitter();
  for await (const chunk of chunks) {
    for (const { data } of splitter.push(chunk)) yield data;
  }
  return undefined;
}
