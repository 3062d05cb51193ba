import { err, ok, type Result } from "../core/result.ts";
import { COLON, CR, endOfRun, isBlank, LF, TOKEN, VALUE } from "./characters.ts";

const HEAD_END = "\r\n\r\n";
/** So many bytes are read as text to look for a head's end in them: few heads are longer, and a text is searched faster. */
const USUAL_HEAD = 4_096;

/**
 * The head that begins at `from`: text that holds at least all its lines with their CRLFs, and its length up to but not
 * including its empty line and the CRLF before that. Undefined: not all of it is there. `seen`: up to here its end is not.
 */
export function findHead(
  bytes: Buffer,
  from: number,
  seen = from,
): { readonly text: string; readonly length: number } | undefined {
  const text = bytes.toString("latin1", from, Math.min(bytes.length, from + USUAL_HEAD));
  const length = text.indexOf(HEAD_END);
  if (length !== -1) return { text, length };
  if (bytes.length - from <= USUAL_HEAD) return undefined;
  const end = bytes.indexOf(HEAD_END, Math.max(from, seen - HEAD_END.length), "latin1");
  return end === -1 ? undefined : { text: bytes.toString("latin1", from, end + 2), length: end - from };
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
