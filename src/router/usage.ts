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
const COLON = /\s*:\s*(?=\{)/y;
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

/** The JSON object after a key and its colon. */
function objectAfter(text: string, from: number): Readonly<Record<string, unknown>> | undefined {
  COLON.lastIndex = from;
  if (!COLON.test(text)) return undefined;
  const start = COLON.lastIndex;
  const end = endOfObject(text, start);
  if (end === -1) return undefined;
  try {
    return JSON.parse(text.slice(start, end)) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

/** Where the object that begins at `from` ends. Counts hold no strings with braces in them. */
function endOfObject(text: string, from: number): number {
  const stop = Math.min(text.length, from + LONGEST_OBJECT);
  let depth = 0;
  for (let at = from; at < stop; at++) {
    const char = text.charCodeAt(at);
    if (char === OPEN) depth += 1;
    else if (char === CLOSE) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return -1;
}

function usageOf(object: Readonly<Record<string, unknown>> | undefined, atStart: Usage | undefined): Usage | undefined {
  if (object === undefined) return undefined;
  const completion = firstCount(object, "completion_tokens", "output_tokens", "predicted_n");
  const cached = cachedOf(object);
  const whole = firstCount(object, "prompt_tokens", "input_tokens");
  if (whole !== undefined) return { prompt: whole + apartFrom(object), cached, completion: completion ?? 0 };
  const processed = firstCount(object, "prompt_n");
  if (processed !== undefined) return { prompt: processed + cached, cached, completion: completion ?? 0 };
  return atStart === undefined || completion === undefined ? undefined : { ...atStart, completion };
}

/** Messages count what was read from and written to a cache beside the input; everyone else counts it in. */
const apartFrom = (object: Readonly<Record<string, unknown>>): number =>
  (countOf(object["cache_read_input_tokens"]) ?? 0) + (countOf(object["cache_creation_input_tokens"]) ?? 0);

function cachedOf(object: Readonly<Record<string, unknown>>): number {
  const details = object["prompt_tokens_details"] ?? object["input_tokens_details"];
  return firstCount(object, "cache_read_input_tokens", "cache_n") ?? cachedIn(details) ?? 0;
}

function cachedIn(details: unknown): number | undefined {
  if (typeof details !== "object" || details === null || !("cached_tokens" in details)) return undefined;
  return countOf(details.cached_tokens);
}

function firstCount(object: Readonly<Record<string, unknown>>, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const count = countOf(object[name]);
    if (count !== undefined) return count;
  }
  return undefined;
}

const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
