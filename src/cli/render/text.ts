/**
 * Control characters become spaces: names and reasons come from other machines and engines, and must neither break a row
 * nor drive the terminal.
 */
export const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").trim();

const COMBINING = /[\p{Mn}\p{Me}\p{Cf}]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

function charWidth(char: string): number {
  if (COMBINING.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Columns that a terminal gives the text. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width;
}

/** At most `width` columns, the last of them … when something was cut. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const char of text) {
    const next = charWidth(char);
    if (used + next > width - 1) break;
    kept += char;
    used += next;
  }
  return width > 0 ? `${kept}…` : "";
}

const COLOUR = /\u001b\[[0-9;]*m/g;

/** The text as it is read: colours take no columns. */
export const withoutColours = (text: string): string => text.replace(COLOUR, "");

/** The words in lines of at most `width` columns; a word that is longer has a line of its own. */
export function folded(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(`${last} ${word}`) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** As {@link cut}, of a text with colours: what counts is what is read, and every colour that was begun ends. */
export function cutColoured(text: string, width: number): string {
  const read = withoutColours(text);
  if (displayWidth(read) <= width) return text;
  const kept = cut(read, width);
  // All but the … is the beginning of what was read.
  let left = Math.max(0, kept.length - 1);
  let mark = kept.slice(-1);
  const colours = text.match(COLOUR) ?? [];
  const shown = text.split(COLOUR).map((part, at) => {
    const here = part.slice(0, left);
    left -= here.length;
    const end = left === 0 && part.length > here.length ? mark : "";
    if (end !== "") mark = "";
    return `${here}${end}${colours[at] ?? ""}`;
  });
  return shown.join("");
}
