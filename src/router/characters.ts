const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
const SPACE = 0x20;
export const COLON = 0x3a;
const DELETE = 0x7f;

/** Which bytes, read as latin-1, may stand where; 1 where they may. Whatever lies beyond a text's end may stand nowhere. */
type Characters = Readonly<Uint8Array>;

function charactersOf(may: (code: number) => boolean): Characters {
  return Uint8Array.from({ length: 256 }, (_, code) => (may(code) ? 1 : 0));
}

const OF_TOKENS = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/;

export const TOKEN = charactersOf((code) => OF_TOKENS.test(String.fromCharCode(code)));

/** Of a header's value: all but controls, tabs apart. */
export const VALUE = charactersOf((code) => code === TAB || (code >= SPACE && code !== DELETE));

/** Of a request's target: what lies beyond ASCII is written with %. */
export const TARGET = charactersOf((code) => code > SPACE && code < DELETE);

/** Where the first character from `from` on stands that may not. */
export function endOfRun(characters: Characters, text: string, from: number): number {
  let at = from;
  while (characters[text.charCodeAt(at)] === 1) at += 1;
  return at;
}

export const isBlank = (code: number): boolean => code === SPACE || code === TAB;
