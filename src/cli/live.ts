import { canRedraw, type Io } from "./io.ts";
import { cut } from "./render/text.ts";

/** One thing that is under way. */
export interface LiveLine {
  /** What it is doing, without numbers that run: where lines cannot be redrawn, a line is printed when this changes. */
  readonly step: string;
  /** For a terminal: with a bar and running numbers. */
  readonly text: string;
}

/** What is under way, redrawn in place on a terminal and printed as it changes elsewhere. Everything goes to stderr. */
export interface LiveView {
  show(lines: readonly LiveLine[]): void;
  /** A line that stays, above what is under way. */
  note(text: string): void;
  /** Takes away what is under way. */
  clear(): void;
}

export function liveView(io: Io): LiveView {
  return canRedraw(io) ? new Redrawn(io) : new Printed(io);
}

/** Says nothing, for those who asked for JSON: stderr then holds at most the one object of a failure. */
export const silentView: LiveView = { show: () => undefined, note: () => undefined, clear: () => undefined };

class Redrawn implements LiveView {
  readonly #io: Io;
  #drawn: readonly string[] = [];

  constructor(io: Io) {
    this.#io = io;
  }

  show(lines: readonly LiveLine[]): void {
    const width = this.#io.stderr.columns ?? 80;
    const next = lines.map((line) => cut(line.text, width - 1));
    if (next.join("\n") === this.#drawn.join("\n")) return;
    this.#io.stderr.write(this.#erase() + next.map((line) => `${line}\n`).join(""));
    this.#drawn = next;
  }

  note(text: string): void {
    const again = this.#drawn.map((line) => `${line}\n`).join("");
    this.#io.stderr.write(`${this.#erase()}${text.trimEnd()}\n${again}`);
  }

  clear(): void {
    this.#io.stderr.write(this.#erase());
    this.#drawn = [];
  }

  #erase(): string {
    // Up to the first drawn line, then erase to the end of the screen.
    return this.#drawn.length === 0 ? "" : `\u001b[${String(this.#drawn.length)}A\u001b[0J`;
  }
}

class Printed implements LiveView {
  readonly #io: Io;
  #said: readonly string[] = [];

  constructor(io: Io) {
    this.#io = io;
  }

  show(lines: readonly LiveLine[]): void {
    const steps = lines.map((line) => line.step);
    for (const step of steps) {
      if (!this.#said.includes(step)) this.note(step);
    }
    this.#said = steps;
  }

  note(text: string): void {
    this.#io.stderr.write(`${text.trimEnd()}\n`);
  }

  clear(): void {
    this.#said = [];
  }
}
