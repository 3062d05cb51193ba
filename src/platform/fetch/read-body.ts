import type { Answer } from "./transport.ts";
import type { IdleWatch } from "./idle.ts";

/** The body's bytes, up to the piece with which they are `most` or more: then the connection is cut. */
export async function readBody(answer: Answer, most: number, watch: IdleWatch): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    watch.heard();
    chunks.push(chunk);
    size += chunk.length;
    if (size >= most) break;
  }
  return Buffer.concat(chunks);
}
