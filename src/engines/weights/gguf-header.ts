import { err, ok, type Result } from "../../core/result.ts";

/** A scalar of the header; a list only of numbers, and only a short one: what tells layers apart. */
type GgufValue = number | boolean | string | readonly number[];

export interface GgufHeader {
  readonly version: number;
  readonly tensors: number;
  readonly values: ReadonlyMap<string, GgufValue>;
  /** How many elements each list has, those that were passed over too. */
  readonly lengths: ReadonlyMap<string, number>;
}

export type GgufFailure =
  /** The prefix ends within the header: ask again with at least so many bytes from the start of the file. */
  | { readonly kind: "more"; readonly bytes: number; readonly message: string }
  | { readonly kind: "invalid"; readonly message: string };

/** The largest known headers, with 260,000 tokens and their merges, are under 20 MiB. */
export const MAX_HEADER = 64 * 2 ** 20;
/** The largest known models have some 60 keys and 2,000 tensors. */
const MAX_PAIRS = 65_536;
const MAX_TENSORS = 2 ** 24;
const MAX_KEY = 65_535;
/** Longer texts are chat templates and licences, which nobody asks for here. */
const KEPT_TEXT = 1_024;
/** One number a layer; no model has a tenth of that many. */
const KEPT_LIST = 4_096;
const MAX_NESTING = 4;
/** Of a list: the type of its elements and how many there are. */
const LIST_HEAD = 12;
const TEXT_HEAD = 8;

const STRING = 8;
const ARRAY = 9;

interface Scalar {
  readonly size: number;
  readonly read: (view: DataView, at: number) => number | boolean;
}

/** By the type's number in the file. */
const SCALARS: Readonly<Record<number, Scalar>> = {
  0: { size: 1, read: (view, at) => view.getUint8(at) },
  1: { size: 1, read: (view, at) => view.getInt8(at) },
  2: { size: 2, read: (view, at) => view.getUint16(at, true) },
  3: { size: 2, read: (view, at) => view.getInt16(at, true) },
  4: { size: 4, read: (view, at) => view.getUint32(at, true) },
  5: { size: 4, read: (view, at) => view.getInt32(at, true) },
  6: { size: 4, read: (view, at) => view.getFloat32(at, true) },
  7: { size: 1, read: (view, at) => view.getUint8(at) !== 0 },
  10: { size: 8, read: (view, at) => Number(view.getBigUint64(at, true)) },
  11: { size: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
  12: { size: 8, read: (view, at) => view.getFloat64(at, true) },
};

/**
 * Reads the key-value part of a GGUF file from its first bytes, which nobody vouches for: no number in them makes it
 * allocate, and long lists are passed over. Tensors are counted, not read.
 */
export function parseGgufHeader(prefix: Uint8Array): Result<GgufHeader, GgufFailure> {
  const reader = new Reader(prefix);
  try {
    return ok(readHeader(reader));
  } catch (error) {
    if (error instanceof Stop) return err(error.failure);
    throw error;
  }
}

/** Ends the reading from any depth; never leaves this file. */
class Stop extends Error {
  readonly failure: GgufFailure;

  constructor(failure: GgufFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

const invalid = (message: string): Stop => new Stop({ kind: "invalid", message });

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Makes sure that so many bytes follow, and steps over them. Returns where they began. */
  take(count: number, what: string): number {
    const end = this.#at + count;
    if (end > MAX_HEADER) throw invalid(`${what} would end at byte ${String(end)}: no GGUF header is that long`);
    if (end > this.#bytes.length) {
      throw new Stop({ kind: "more", bytes: end, message: `need more bytes: ${String(end)}` });
    }
    const at = this.#at;
    this.#at = end;
    return at;
  }

  /** Makes sure that so many bytes follow, as a list of that many elements has at least. */
  foresee(count: number, what: string): void {
    const at = this.#at;
    this.take(count, what);
    this.#at = at;
  }

  uint32(what: string): number {
    return this.#view.getUint32(this.take(4, what), true);
  }

  uint64(what: string): number {
    const value = this.#view.getBigUint64(this.take(8, what), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid(`${what} is ${String(value)}`);
    return Number(value);
  }

  scalar({ size, read }: Scalar, what: string): number | boolean {
    return read(this.#view, this.take(size, what));
  }

  text(length: number, what: string): string {
    const at = this.take(length, what);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + length));
  }
}

function readHeader(reader: Reader): GgufHeader {
  const magic = reader.text(4, "the first word");
  if (magic !== "GGUF") throw invalid("it does not begin with GGUF, so it is no GGUF file");
  const version = reader.uint32("the version");
  if (version !== 2 && version !== 3) throw invalid(whyNotVersion(version));
  const tensors = reader.uint64("the number of tensors");
  if (tensors > MAX_TENSORS) throw invalid(`it claims ${String(tensors)} tensors`);
  const pairs = reader.uint64("the number of keys");
  if (pairs > MAX_PAIRS) throw invalid(`it claims ${String(pairs)} keys`);
  const values = new Map<string, GgufValue>();
  const lengths = new Map<string, number>();
  for (let pair = 0; pair < pairs; pair += 1) {
    const length = reader.uint64("the length of a key");
    if (length > MAX_KEY) throw invalid(`a key claims to be ${String(length)} bytes long`);
    const key = reader.text(length, "a key");
    const value = readValue(reader, key, reader.uint32(`the type of ${key}`));
    if (value.kept !== undefined) values.set(key, value.kept);
    if (value.length !== undefined) lengths.set(key, value.length);
  }
  return { version, tensors, values, lengths };
}

function whyNotVersion(version: number): string {
  // The number 3 with its bytes the other way round.
  if (version === 0x0300_0000 || version === 0x0200_0000) return "it is a big-endian GGUF file, which is not read here";
  return `it is GGUF version ${String(version)}; versions 2 and 3 are read`;
}

interface Read {
  readonly kept: GgufValue | undefined;
  readonly length: number | undefined;
}

function readValue(reader: Reader, key: string, type: number): Read {
  if (type === STRING) {
    const length = reader.uint64(`the length of ${key}`);
    const text = length <= KEPT_TEXT ? reader.text(length, key) : undefined;
    if (text === undefined) reader.take(length, key);
    return { kept: text, length: undefined };
  }
  if (type === ARRAY) return readList(reader, key, 1);
  return { kept: reader.scalar(scalarOf(type, key), key), length: undefined };
}

function scalarOf(type: number, key: string): Scalar {
  const scalar = SCALARS[type];
  if (scalar === undefined) throw invalid(`${key} has the type ${String(type)}, which GGUF does not have`);
  return scalar;
}

function readList(reader: Reader, key: string, depth: number): Read {
  if (depth > MAX_NESTING) throw invalid(`${key} has lists within lists within lists`);
  const type = reader.uint32(`the type of ${key}`);
  const length = reader.uint64(`the length of ${key}`);
  if (type === STRING) {
    reader.foresee(length * TEXT_HEAD, key);
    const each = `a text of ${key}`;
    for (let i = 0; i < length; i += 1) reader.take(reader.uint64(each), each);
    return { kept: undefined, length };
  }
  if (type === ARRAY) {
    reader.foresee(length * LIST_HEAD, key);
    for (let i = 0; i < length; i += 1) readList(reader, key, depth + 1);
    return { kept: undefined, length };
  }
  const scalar = scalarOf(type, key);
  if (length > KEPT_LIST) {
    reader.take(length * scalar.size, key);
    return { kept: undefined, length };
  }
  reader.foresee(length * scalar.size, key);
  return { kept: Array.from({ length }, () => Number(reader.scalar(scalar, key))), length };
}
