import { err, ok, type Result } from "../core/result.ts";
import { COLON, CR, isBlank, LF, TOKEN, VALUE } from "./characters.ts";

/** Of a message's bytes, so many are read as text to look for the end of its head: few heads are longer. */
export const USUAL_HEAD = 4_096;

/**
 * Reads the header lines of HTTP/1.1 between two places of a latin-1 text, each with its CRLF: names as they came and values
 * without the blanks around them, in turn. Every line is checked to its last character.
 */
export function readHeaderLines(text: string, from: number, to: number): Result<string[], string> {
  const lines: string[] = [];
  let next = from;
  while (next < to) {
    const nameEnd = tokenEnd(text, next);
    if (nameEnd === next || text.charCodeAt(nameEnd) !== COLON) return err("a header's name is malformed");
    const valueEnd = endOfValue(text, nameEnd + 1);
    if (text.charCodeAt(valueEnd) !== CR || text.charCodeAt(valueEnd + 1) !== LF)
      return err("a header's value is malformed");
    lines.push(text.slice(next, nameEnd), trimmed(text, nameEnd + 1, valueEnd));
    next = valueEnd + 2;
  }
  return ok(lines);
}

function tokenEnd(text: string, from: number): number {
  let at = from;
  while (TOKEN[text.charCodeAt(at)] === 1) at += 1;
  return at;
}

function endOfValue(text: string, from: number): number {
  let at = from;
  while (VALUE[text.charCodeAt(at)] === 1) at += 1;
  return at;
}

function trimmed(text: string, from: number, to: number): string {
  let begin = from;
  let end = to;
  while (begin < end && isBlank(text.charCodeAt(begin))) begin += 1;
  while (end > begin && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(begin, end);
}
