import { canRedraw, type Io } from "./io.ts";
import { Redraw } from "./redraw.ts";
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
  return canRedraw(io.stderr, io.env) ? new Redrawn(io) : new Printed(io);
}

/** Says nothing, for those who asked for a document, and where nobody watches: stderr then holds at most a failure. */
export const silentView: LiveView = { show: () => undefined, note: () => undefined, clear: () => undefined };

class Redrawn implements LiveView {
  readonly #redraw: Redraw;

  constructor(io: Io) {
    this.#redraw = new Redraw(io.stderr);
  }

  show(lines: readonly LiveLine[]): void {
    // The last column stays free: some terminals fold a line that fills it.
    this.#redraw.show(lines.map((line) => cut(line.text, this.#redraw.columns - 1)));
  }

  note(text: string): void {
    this.#redraw.note(text);
  }

  clear(): void {
    this.#redraw.clear();
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
