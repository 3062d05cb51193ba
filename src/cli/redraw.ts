import { columnsOf, type OutStream, rowsOf } from "./io.ts";
import { displayWidth, withoutColours } from "./render/text.ts";

const CLEAR_SCREEN = "\u001b[2J\u001b[H";

/**
 * Lines at the bottom of a terminal that are drawn over their earlier selves. Each line must fit the terminal's width: one
 * that is folded by the terminal takes two rows, and the cursor would not find back to the first.
 */
export class Redraw {
  readonly #stream: OutStream;
  #drawn: readonly string[] = [];
  #columns = 0;

  constructor(stream: OutStream) {
    this.#stream = stream;
  }

  get columns(): number {
    return columnsOf(this.#stream);
  }

  /** Rows that can be drawn: one is the cursor's. */
  get rows(): number {
    return Math.max(1, rowsOf(this.#stream) - 1);
  }

  show(lines: readonly string[]): void {
    if (this.columns === this.#columns && lines.join("\n") === this.#drawn.join("\n")) return;
    this.#stream.write(this.#erase() + lines.map((line) => `${line}\n`).join(""));
    this.#drawn = lines;
    this.#columns = this.columns;
  }

  /** A line that stays, above what is drawn. */
  note(text: string): void {
    const again = this.#drawn.map((line) => `${line}\n`).join("");
    this.#stream.write(`${this.#erase()}${text.trimEnd()}\n${again}`);
    this.#columns = this.columns;
  }

  clear(): void {
    this.#stream.write(this.#erase());
    this.#drawn = [];
  }

  /** Up to the first drawn line, then to the end of the screen. */
  #erase(): string {
    if (this.#drawn.length === 0) return "";
    // A narrower window has folded what is there: how many rows that takes is for the terminal to know.
    const isFolded = this.#drawn.some((line) => displayWidth(withoutColours(line)) > this.columns);
    return isFolded ? CLEAR_SCREEN : `\u001b[${String(this.#drawn.length)}A\u001b[0J`;
  }
}
