import type { Bytes } from "../../../core/ids.ts";
import type { Refusal } from "../../error-body.ts";
import { HEADERS_TOO_LARGE } from "../../refusals.ts";
import { MOST_HEADERS } from "../http2-request.ts";
import { NO_REQUEST } from "../malformed.ts";
import { CR, LF, VALUE } from "../../characters.ts";
import { findHead } from "../../header-lines.ts";
import { parseRequestHead, parseRequestLine, type RequestHead } from "./request-head.ts";

/** What the bytes of a connection hold at a place where a request begins. */
export type HeadRead =
  /** Not all of it is there. */
  | { readonly kind: "more" }
  /** `end`: where the body begins. */
  | { readonly kind: "head"; readonly head: RequestHead; readonly end: number }
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly detail: string };

export interface Where {
  readonly from: number;
  /** Up to here the bytes were looked at before, and more was asked for. */
  readonly seen: number;
  readonly limit: Bytes;
}

const LINE_END = Buffer.from("\r\n");
const MORE: HeadRead = { kind: "more" };
const TOO_LARGE: HeadRead = { kind: "refused", refusal: HEADERS_TOO_LARGE, detail: "its head is over the limit" };

const malformed = (detail: string): HeadRead => ({ kind: "refused", refusal: NO_REQUEST, detail });

export function readHead(bytes: Buffer, where: Where): HeadRead {
  const { from, seen, limit } = where;
  const found = findHead(bytes, from, seen);
  if ((found?.length ?? bytes.length - from) > limit) return TOO_LARGE;
  if (found === undefined) return readPart(bytes, where);
  const lines = found.length + LINE_END.length;
  const head = parseRequestHead(found.text, lines);
  if (!head.ok) return malformed(head.error);
  if (head.value.rawHeaders.length > 2 * MOST_HEADERS) return TOO_LARGE;
  return { kind: "head", head: head.value, end: from + lines + LINE_END.length };
}

/** Whoever speaks no HTTP is told so at once, and not when the time for a head is over. */
function readPart(bytes: Buffer, { from, seen }: Where): HeadRead {
  for (let at = Math.max(from, seen - 1); at < bytes.length; at += 1) {
    if (!mayStand(bytes, from, at)) return malformed("a character is none that a head may hold");
  }
  const lineEnd = bytes.indexOf(LINE_END, from);
  if (lineEnd === -1 || lineEnd + LINE_END.length <= seen) return MORE;
  const line = parseRequestLine(bytes.toString("latin1", from, lineEnd), lineEnd - from);
  return line.ok ? MORE : malformed(line.error);
}

function mayStand(bytes: Buffer, from: number, at: number): boolean {
  const byte = bytes[at] ?? 0;
  if (byte === LF) return at > from && bytes[at - 1] === CR;
  if (byte === CR) return at + 1 === bytes.length || bytes[at + 1] === LF;
  return VALUE[byte] === 1;
}

/** Where the next request may begin: empty lines before one are read over, as some clients end a body with one. */
export function afterEmptyLines(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  return at;
}
