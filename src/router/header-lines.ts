import { err, ok, type Result } from "../core/result.ts";
import { COLON, CR, endOfRun, isBlank, LF, TOKEN, VALUE } from "./characters.ts";

/** Of the empty line behind a head, and of the end of the line before it. */
const END_LENGTH = 4;

/**
 * The head that begins at `from`: text that holds at least all its lines with their CRLFs, and its length up to but not
 * including its empty line and the CRLF before that. Undefined: not all of it is there. `seen`: up to here its end is not.
 */
export function findHead(
  bytes: Buffer,
  from: number,
  seen = from,
): { readonly text: string; readonly length: number } | undefined {
  const end = endOfHead(bytes, Math.max(from, seen - END_LENGTH));
  return end === undefined ? undefined : { text: bytes.toString("latin1", from, end + 2), length: end - from };
}

/** Where its last line's CRLF begins. Looks at every fourth byte as long as none is of an end: a search in native code takes longer. */
function endOfHead(bytes: Buffer, from: number): number | undefined {
  let at = from + END_LENGTH - 1;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === LF) {
      if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at - 3;
      at += 2;
    } else at += byte === CR ? 1 : END_LENGTH;
  }
  return undefined;
}

/**
 * Reads the header lines of HTTP/1.1 between two places of a latin-1 text, each with its CRLF: names as they came and values
 * without the blanks around them, in turn. Every line is checked to its last character.
 */
export function readHeaderLines(text: string, from: number, to: number): Result<string[], string> {
  const lines: string[] = [];
  let next = from;
  while (next < to) {
    const nameEnd = endOfRun(TOKEN, text, next);
    if (nameEnd === next || text.charCodeAt(nameEnd) !== COLON) return err("a header's name is malformed");
    const valueEnd = endOfRun(VALUE, text, nameEnd + 1);
    if (text.charCodeAt(valueEnd) !== CR || text.charCodeAt(valueEnd + 1) !== LF)
      return err("a header's value is malformed");
    lines.push(text.slice(next, nameEnd), trimmed(text, nameEnd + 1, valueEnd));
    next = valueEnd + 2;
  }
  return ok(lines);
}

function trimmed(text: string, from: number, to: number): string {
  let begin = from;
  let end = to;
  while (begin < end && isBlank(text.charCodeAt(begin))) begin += 1;
  while (end > begin && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(begin, end);
}
