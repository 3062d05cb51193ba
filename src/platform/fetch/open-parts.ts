import type { ByteRange } from "./ranges.ts";

/** A piece of a file with right bytes. */
export interface PieceNote {
  readonly index: number;
  /** Hex. */
  readonly sha256: string;
}

/** A file that is on its way, as far as others can be given of it. */
export interface OpenPart {
  /** Of the whole file. */
  readonly size: number;
  /** Another one means that what was noted before is worth nothing. */
  readonly generation: string;
  /** The pieces that are there, in the order in which they came; only ever grows. */
  notes(): readonly PieceNote[];
  read(range: ByteRange): Promise<Uint8Array>;
}

/** The downloads of one process that can be read from before they are whole. */
export class OpenParts {
  readonly #parts = new Map<string, () => OpenPart | undefined>();

  /** `look` is asked each time. The function takes it back. */
  register(target: string, look: () => OpenPart | undefined): () => void {
    this.#parts.set(target, look);
    return () => {
      if (this.#parts.get(target) === look) this.#parts.delete(target);
    };
  }

  find(target: string): OpenPart | undefined {
    return this.#parts.get(target)?.();
  }
}
