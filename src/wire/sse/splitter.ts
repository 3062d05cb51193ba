/** One event of a stream. */
export interface SseEvent {
  /** "" for an event without a name. */
  readonly name: string;
  /** Its data lines, joined by line feeds. */
  readonly data: string;
}

/** A tool call can hold a whole file; nothing of ours is longer. */
const LONGEST_EVENT = 32 * 1024 * 1024;

/**
 * Cuts an event stream's bytes into events, the same ones whatever reads they come in. Comments, ids and retry times are
 * read over: they are of the connection to the engine.
 */
export class SseSplitter {
  readonly #decoder = new TextDecoder();
  /** Pieces of a line that has not ended. */
  #line: string[] = [];
  #length = 0;
  #endedInReturn = false;
  #name = "";
  #data: string[] = [];
  /** An event was longer than any may be; nothing more is read. */
  isTooLong = false;

  push(bytes: Uint8Array): readonly SseEvent[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The stream is over. An event that lacks only its empty line counts. */
  finish(): readonly SseEvent[] {
    const events = [...this.#read(this.#decoder.decode())];
    this.#endLine(events);
    this.#endLine(events);
    return events;
  }

  #read(text: string): readonly SseEvent[] {
    const events: SseEvent[] = [];
    let from = 0;
    if (this.#endedInReturn && text !== "") {
      this.#endedInReturn = false;
      if (text.startsWith("\n")) from = 1;
    }
    for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) {
      if (index < from) continue;
      this.#line.push(text.slice(from, index));
      this.#endLine(events);
      from = index + end.length;
      // Its line feed may come with the next read, and is no line of its own.
      this.#endedInReturn = end === "\r" && from === text.length;
    }
    if (from < text.length) this.#keep(text.slice(from));
    return events;
  }

  #keep(part: string): void {
    this.#length += part.length;
    if (this.#length > LONGEST_EVENT) {
      this.isTooLong = true;
      this.#line = [];
      this.#data = [];
      return;
    }
    this.#line.push(part);
  }

  #endLine(events: SseEvent[]): void {
    const line = this.#line.length === 1 ? (this.#line[0] ?? "") : this.#line.join("");
    this.#line = [];
    if (line !== "") {
      this.#field(line);
      return;
    }
    if (this.#data.length > 0) events.push({ name: this.#name, data: this.#data.join("\n") });
    this.#name = "";
    this.#data = [];
    this.#length = 0;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") {
      this.#length += value.length;
      this.#data.push(value);
    } else if (name === "event") this.#name = value;
  }
}

/** An event as it goes over the wire. JSON holds no line ends, so its data is one line. */
export const namedEvent = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
