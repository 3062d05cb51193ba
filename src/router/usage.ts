/** What an engine says a request took. */
export interface Usage {
  /** All of the prompt, cached tokens included. */
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

/** Words that engines put before their counts. llama-server's timings are there even when usage was not asked for. */
const WORDS = ['"usage"', '"timings"'] as const;
/** A usage object is some hundred bytes; an engine that writes more is not counted. */
const LONGEST_OBJECT = 4_096;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const DIGIT_0 = 0x30;
const COLON = 0x3a;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * The counts nearest the end of an answer's text, of which a character may stand for a byte, or undefined. A word inside a
 * message cannot be taken for it: there its quotes are escaped. Where the last object counts only what was written, `atStart`
 * tells the prompt (Messages streams).
 */
export function readUsage(text: string, atStart?: Usage): Usage | undefined {
  for (const word of WORDS) {
    for (let at = text.lastIndexOf(word); at !== -1; at = at === 0 ? -1 : text.lastIndexOf(word, at - 1)) {
      const usage = usageOf(objectAfter(text, at + word.length), atStart);
      if (usage !== undefined) return usage;
    }
  }
  return undefined;
}

/** The text of the JSON object after a key and its colon; "" for none. */
function objectAfter(text: string, keyEnd: number): string {
  const colon = afterBlanks(text, keyEnd);
  if (text.charCodeAt(colon) !== COLON) return "";
  const start = afterBlanks(text, colon + 1);
  return text.charCodeAt(start) === OPEN ? text.slice(start, endOfObject(text, start)) : "";
}

/** Where the object that begins at `from` ends, or `from`. Counts hold no strings with braces in them. */
function endOfObject(text: string, from: number): number {
  const stop = Math.min(text.length, from + LONGEST_OBJECT);
  let depth = 0;
  for (let at = from; at < stop; at++) {
    const char = text.charCodeAt(at);
    if (char === OPEN) depth += 1;
    else if (char === CLOSE) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return from;
}

function usageOf(object: string, atStart: Usage | undefined): Usage | undefined {
  const completion = firstCount(object, "completion_tokens", "output_tokens", "predicted_n");
  const cached = firstCount(object, "cache_read_input_tokens", "cache_n", "cached_tokens") ?? 0;
  const prompt = promptIn(object, cached);
  if (prompt !== undefined) return { prompt, cached, completion: completion ?? 0 };
  return atStart === undefined || completion === undefined ? undefined : { ...atStart, completion };
}

function promptIn(object: string, cached: number): number | undefined {
  const whole = firstCount(object, "prompt_tokens", "input_tokens");
  // Messages count what was read from and written to a cache beside the input; everyone else counts it in.
  if (whole !== undefined)
    return (
      whole + (countIn(object, "cache_read_input_tokens") ?? 0) + (countIn(object, "cache_creation_input_tokens") ?? 0)
    );
  const processed = countIn(object, "prompt_n");
  return processed === undefined ? undefined : processed + cached;
}

function firstCount(object: string, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const count = countIn(object, name);
    if (count !== undefined) return count;
  }
  return undefined;
}

/**
 * The count under a name, wherever in the object it stands: no engine has two under one name. To parse the object and throw it
 * away takes three times as long.
 */
function countIn(object: string, name: string): number | undefined {
  for (let at = object.indexOf(name); at !== -1; at = object.indexOf(name, at + 1)) {
    const end = at + name.length;
    if (object.charCodeAt(at - 1) === QUOTE && object.charCodeAt(end) === QUOTE) return countAfter(object, end + 1);
  }
  return undefined;
}

/** Behind a key: digits that are all of its value. */
function countAfter(object: string, keyEnd: number): number | undefined {
  const colon = afterBlanks(object, keyEnd);
  if (object.charCodeAt(colon) !== COLON) return undefined;
  const from = afterBlanks(object, colon + 1);
  let at = from;
  let count = 0;
  for (let digit = digitAt(object, at); digit >= 0 && digit <= 9; digit = digitAt(object, at)) {
    count = count * 10 + digit;
    at += 1;
  }
  const next = object.charCodeAt(afterBlanks(object, at));
  return at > from && (next === COMMA || next === CLOSE) && Number.isSafeInteger(count) ? count : undefined;
}

const digitAt = (text: string, at: number): number => text.charCodeAt(at) - DIGIT_0;

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return at;
}
