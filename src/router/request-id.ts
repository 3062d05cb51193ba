import { randomFillSync } from "node:crypto";

const SANE_REQUEST_ID = /^[\w.-]{1,128}$/;

const ID_BYTES = 16;
/** Random bytes for 256 ids. */
const pool = Buffer.alloc(256 * ID_BYTES);
let used = pool.length;
const DIGITS = Buffer.from("0123456789abcdef");
const PREFIX = "req_";
const id = Buffer.from(PREFIX.padEnd(PREFIX.length + 2 * ID_BYTES, "0"));

/**
 * 128 random bits. Written into bytes, so that the text is of one piece: it goes into two heads, a line of the log and a
 * record, and each would walk through the pieces again.
 */
export function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  for (let at = PREFIX.length; at < id.length; at += 2) {
    const byte = pool[used] ?? 0;
    used += 1;
    id[at] = DIGITS[byte >> 4] ?? 0;
    id[at + 1] = DIGITS[byte & 0xf] ?? 0;
  }
  return id.toString("latin1");
}

/** The client's own id when it can stand in a log line and a header, else a new one. */
export const requestIdOf = (given: string | readonly string[] | undefined): string =>
  typeof given === "string" && SANE_REQUEST_ID.test(given) ? given : newRequestId();
