import { isFields, parseJson } from "../wire/json-value.ts";
import { type BodySpans, piecesOf, type Span } from "./body-spans.ts";
import type { OpenBody } from "./open-body.ts";

export interface Body {
  /** All of it, or what comes before the rest. */
  readonly chunks: readonly Buffer[];
  /** Of all of it, as far as that is known. */
  readonly bytes: number;
  /** What the client still sends. */
  readonly rest?: OpenBody | undefined;
  /** What is to stand before the closing brace that is in the rest. */
  readonly ending?: readonly Buffer[] | undefined;
}

interface Splice extends Span {
  readonly text: string;
}

/** The body with `stream_options.include_usage` set to true; every other byte stays, and nothing is copied. */
export const withUsage = (body: Body, spans: BodySpans): Body => spliced(body, [usageSplice(spans)]);

/** The body for another model's name, with usage asked for as well where that is wanted. */
export function withModel(body: Body, spans: BodySpans, { model, usage }: ModelChange): Body {
  const text = spans.isForm === true ? model : JSON.stringify(model);
  const named = spans.model === undefined ? [] : [{ ...spans.model, text }];
  return spliced(body, usage ? [...named, usageSplice(spans)] : named);
}

interface ModelChange {
  readonly model: string;
  readonly usage: boolean;
}

/** The body, a JSON object with at least one key, with further fields at its end: of a key that comes twice the last one counts. */
export function withFields(body: Body, fields: Readonly<Record<string, string>>): Body {
  const text = Object.entries(fields)
    .map(([key, json]) => `,${JSON.stringify(key)}:${json}`)
    .join("");
  if (text === "") return body;
  if (body.rest !== undefined) return { ...body, ending: [Buffer.from(text)] };
  const close = closeOf(body);
  return spliced(body, [{ start: close, end: close, text }]);
}

/** White space may follow the brace. */
function closeOf({ chunks, bytes }: Body): number {
  let end = bytes;
  for (const chunk of chunks.toReversed()) {
    const at = chunk.lastIndexOf("}");
    if (at >= 0) return end - chunk.length + at;
    end -= chunk.length;
  }
  return end;
}

/** Places that do not overlap. */
function spliced(body: Body, splices: readonly Splice[]): Body {
  const chunks: Buffer[] = [];
  let [from, bytes] = [0, body.bytes];
  for (const { start, end, text } of splices.toSorted((a, b) => a.start - b.start)) {
    const put = Buffer.from(text);
    chunks.push(...piecesOf(body.chunks, { start: from, end: start }), put);
    bytes += put.length - (end - start);
    from = end;
  }
  return { chunks: [...chunks, ...piecesOf(body.chunks, { start: from, end: body.bytes })], bytes, rest: body.rest };
}

/** What makes a body ask for usage just before its end, whatever options it has named before: of two the last one counts. */
export function usageAtEnd(options: Buffer | undefined): Buffer {
  const named = options === undefined ? undefined : parseJson(options.toString("utf8"));
  const all = { ...(isFields(named) ? named : {}), include_usage: true };
  return Buffer.from(`,"stream_options":${JSON.stringify(all)}`);
}

/** The change that makes the last `stream_options` of a body ask for usage. The body is an object with at least one key. */
function usageSplice({ streamOptions: options, close }: BodySpans): Splice {
  if (options === undefined) return { start: close, end: close, text: ',"stream_options":{"include_usage":true}' };
  if (!options.isObject) return { start: options.start, end: options.end, text: '{"include_usage":true}' };
  if (options.includeUsage !== undefined) return { ...options.includeUsage, text: "true" };
  const inside = options.end - 1;
  return { start: inside, end: inside, text: options.isEmpty ? '"include_usage":true' : ',"include_usage":true' };
}
