/** One f32 tensor; the first number of the shape is the one whose values lie side by side. */
export interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const VERSION = 3;
const ALIGNMENT = 32;
const TYPE = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 } as const;
const TENSOR_F32 = 0;

const utf8 = new TextEncoder();

/** Bytes at the end of a growing buffer, little-endian as GGUF wants them whatever the machine. */
class ByteSink {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  uint32(value: number): void {
    const at = this.#grow(4);
    this.#view.setUint32(at, value, true);
  }

  int32(value: number): void {
    const at = this.#grow(4);
    this.#view.setInt32(at, value, true);
  }

  uint64(value: number): void {
    const at = this.#grow(8);
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  float32(value: number): void {
    const at = this.#grow(4);
    this.#view.setFloat32(at, value, true);
  }

  text(value: string): void {
    const encoded = utf8.encode(value);
    this.uint64(encoded.length);
    this.raw(encoded);
  }

  raw(value: Uint8Array): void {
    const at = this.#grow(value.length);
    this.#bytes.set(value, at);
  }

  align(): void {
    this.#grow(aligned(this.#length) - this.#length);
  }

  toBytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** Makes room and returns where it begins. To be called first: it may replace the buffer and the view. */
  #grow(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}

const aligned = (offset: number): number => Math.ceil(offset / ALIGNMENT) * ALIGNMENT;

/** Writes GGUF version 3 with f32 tensors: what is needed for a model made by program. Keys appear in the order of the calls. */
export class GgufWriter {
  readonly #pairs = new ByteSink();
  #count = 0;

  uint32(key: string, value: number): void {
    this.#key(key, TYPE.uint32);
    this.#pairs.uint32(value);
  }

  float32(key: string, value: number): void {
    this.#key(key, TYPE.float32);
    this.#pairs.float32(value);
  }

  string(key: string, value: string): void {
    this.#key(key, TYPE.string);
    this.#pairs.text(value);
  }

  strings(key: string, values: readonly string[]): void {
    this.#array(key, TYPE.string, values.length);
    for (const value of values) this.#pairs.text(value);
  }

  float32s(key: string, values: readonly number[]): void {
    this.#array(key, TYPE.float32, values.length);
    for (const value of values) this.#pairs.float32(value);
  }

  int32s(key: string, values: readonly number[]): void {
    this.#array(key, TYPE.int32, values.length);
    for (const value of values) this.#pairs.int32(value);
  }

  /** The whole file. */
  bytes(tensors: readonly Tensor[]): Uint8Array {
    const file = new ByteSink();
    file.raw(utf8.encode("GGUF"));
    file.uint32(VERSION);
    file.uint64(tensors.length);
    file.uint64(this.#count);
    file.raw(this.#pairs.toBytes());
    let offset = 0;
    for (const tensor of tensors) {
      file.text(tensor.name);
      file.uint32(tensor.shape.length);
      for (const size of tensor.shape) file.uint64(size);
      file.uint32(TENSOR_F32);
      file.uint64(offset);
      offset = aligned(offset + tensor.values.byteLength);
    }
    for (const tensor of tensors) {
      file.align();
      for (const value of tensor.values) file.float32(value);
    }
    file.align();
    return file.toBytes();
  }

  #key(key: string, type: number): void {
    this.#pairs.text(key);
    this.#pairs.uint32(type);
    this.#count += 1;
  }

  #array(key: string, type: number, length: number): void {
    this.#key(key, TYPE.array);
    this.#pairs.uint32(type);
    this.#pairs.uint64(length);
  }
}
