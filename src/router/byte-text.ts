/** Bytes of a page. Of a text's last one half is in use, on an average. */
const PAGE_BYTES = 4_096;
/** Pages that nobody uses and that are kept for the next who does: 8 MiB. */
const MOST_SPARE = 2_048;

const spare: Buffer[] = [];
const NO_PAGE = Buffer.alloc(0);

/**
 * Text of a character a byte that grows by pieces and is kept as bytes, in pages that are used again. As strings the pieces of
 * all streams would be what most of the collector's time goes to: it copies each new object that is still in use, twice, and
 * these are for as long as their stream runs. New buffers for each stream would make it look through the whole heap.
 */
export class ByteText {
  #pages: Buffer[] = [];
  #last: Buffer = NO_PAGE;
  /** Bytes of the last page. */
  #used = PAGE_BYTES;

  get length(): number {
    return this.#pages.length === 0 ? 0 : (this.#pages.length - 1) * PAGE_BYTES + this.#used;
  }

  push(text: string): void {
    // What just fills a page goes the long way too, and so does a text of nothing that has no page yet.
    if (this.#used + text.length >= PAGE_BYTES) this.#pushOver(text);
    else this.#used += this.#last.write(text, this.#used, "latin1");
  }

  /** Into what is left of the last page, and pages behind it. */
  #pushOver(text: string): void {
    let from = 0;
    while (from < text.length) {
      if (this.#used === PAGE_BYTES) this.#turn();
      const part = text.slice(from, from + PAGE_BYTES - this.#used);
      this.#used += this.#last.write(part, this.#used, "latin1");
      from += part.length;
    }
  }

  #turn(): void {
    this.#last = spare.pop() ?? Buffer.allocUnsafeSlow(PAGE_BYTES);
    this.#pages.push(this.#last);
    this.#used = 0;
  }

  /** Lets go of pages from the beginning on, while so many bytes stay. */
  keepLast(bytes: number): void {
    while (this.length - PAGE_BYTES >= bytes) giveBack(this.#pages.shift());
  }

  /** All of it, in order. They change once it is cleared. */
  pieces(): readonly Buffer[] {
    return this.#pages.map((page) => (page === this.#last ? page.subarray(0, this.#used) : page));
  }

  toString(): string {
    return this.pieces()
      .map((piece) => piece.toString("latin1"))
      .join("");
  }

  clear(): void {
    for (const page of this.#pages) giveBack(page);
    this.#pages = [];
    this.#last = NO_PAGE;
    this.#used = PAGE_BYTES;
  }
}

function giveBack(page: Buffer | undefined): void {
  if (page !== undefined && spare.length < MOST_SPARE) spare.push(page);
}
