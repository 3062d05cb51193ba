import type { BodySpans } from "./body-spans.ts";

export interface Body {
  readonly chunks: readonly Buffer[];
  readonly bytes: number;
}

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The body with `stream_options.include_usage` set to true; every other byte stays, and nothing is copied. */
export function withUsage(body: Body, spans: BodySpans): Body {
  const { start, end, text } = spliceFor(spans);
  const put = Buffer.from(text);
  const chunks = [...range(body.chunks, 0, start), put, ...range(body.chunks, end, body.bytes)];
  return { chunks, bytes: body.bytes - (end - start) + put.length };
}

/** The change that makes the last `stream_options` of a body ask for usage. The body is an object with at least one key. */
function spliceFor({ streamOptions: options, close }: BodySpans): Splice {
  if (options === undefined) return { start: close, end: close, text: ',"stream_options":{"include_usage":true}' };
  if (!options.isObject) return { start: options.start, end: options.end, text: '{"include_usage":true}' };
  if (options.includeUsage !== undefined) return { ...options.includeUsage, text: "true" };
  const inside = options.end - 1;
  return { start: inside, end: inside, text: options.isEmpty ? '"include_usage":true' : ',"include_usage":true' };
}

function range(chunks: readonly Buffer[], start: number, end: number): readonly Buffer[] {
  const out: Buffer[] = [];
  let offset = 0;
  for (const chunk of chunks) {
    const from = Math.max(start - offset, 0);
    const to = Math.min(end - offset, chunk.length);
    if (from < to) out.push(chunk.subarray(from, to));
    offset += chunk.length;
  }
  return out;
}
