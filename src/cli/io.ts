import pc from "picocolors";
import type { Millis } from "../core/ids.ts";

export type Colours = ReturnType<typeof pc.createColors>;

export interface OutStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): boolean;
}

interface InStream extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean;
  /** Of a terminal: whether each key comes at once, and is not shown. */
  setRawMode?(raw: boolean): unknown;
}

/** Everything a command may know of the terminal it was typed in. Data goes to stdout, everything else to stderr. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: InStream;
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  /** What ages are counted to. Left out: the clock's now. */
  readonly now?: () => Millis;
}

export const isTerminal = (stream: { readonly isTTY?: boolean }): boolean => stream.isTTY === true;

/** A terminal that can move its cursor: only there a line is drawn over. */
export const canRedraw = (stream: OutStream, env: Io["env"]): boolean => isTerminal(stream) && env["TERM"] !== "dumb";

/** A terminal that does not know its size says 0. */
export const columnsOf = ({ columns = 0 }: OutStream): number => (columns > 0 ? columns : 80);
export const rowsOf = ({ rows = 0 }: OutStream): number => (rows > 0 ? rows : 24);

/** Columns that a table may use; undefined when it goes into a file or a pipe, where nothing is cut. */
export const widthOf = (stream: OutStream): number | undefined => (isTerminal(stream) ? columnsOf(stream) : undefined);

export function coloursFor(stream: OutStream, env: Io["env"]): Colours {
  const refused = (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return pc.createColors(isTerminal(stream) && !refused);
}

export const readStdin = ({ stdin }: Io): Promise<string> => readTextOf(stdin);

export async function readTextOf(stream: AsyncIterable<string | Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
