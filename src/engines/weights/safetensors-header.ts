import { messageOf } from "../../core/errors.ts";
import { err, ok, type Result } from "../../core/result.ts";

/** Of one file: the weights it holds. */
export interface SafetensorsHeader {
  readonly tensors: number;
  /** Of all tensors together. */
  readonly bytes: number;
  /** Elements by type, such as BF16. */
  readonly elements: Readonly<Record<string, number>>;
}

export type SafetensorsFailure =
  | { readonly kind: "more"; readonly bytes: number; readonly message: string }
  | { readonly kind: "invalid"; readonly message: string };

/** The cap of the Hub's own reader. */
const MAX_JSON = 25_000_000;
const LENGTH = 8;

/** Bits, because some types share a byte. */
const BITS: Readonly<Record<string, number>> = {
  ...{ BOOL: 8, U8: 8, I8: 8, U16: 16, I16: 16, U32: 32, I32: 32, U64: 64, I64: 64 },
  ...{ F16: 16, BF16: 16, F32: 32, F64: 64, C64: 64 },
  ...{ F8_E4M3: 8, F8_E5M2: 8, F8_E8M0: 8, F8_E4M3FNUZ: 8, F8_E5M2FNUZ: 8 },
  ...{ F4: 4, F6_E2M3: 6, F6_E3M2: 6 },
};

type Fields = Readonly<Record<string, unknown>>;

const invalid = (message: string) => err({ kind: "invalid", message } as const);

/** Reads the header of a safetensors file from its first bytes, which nobody vouches for. */
export function parseSafetensorsHeader(prefix: Uint8Array): Result<SafetensorsHeader, SafetensorsFailure> {
  if (prefix.length < LENGTH) return err(more(LENGTH));
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true);
  if (length > BigInt(MAX_JSON)) return invalid(`its header claims ${String(length)} bytes: it is no safetensors file`);
  const end = LENGTH + Number(length);
  if (prefix.length < end) return err(more(end));
  const raw = parseObject(new TextDecoder().decode(prefix.subarray(LENGTH, end)));
  if (typeof raw === "string") return invalid(`its header is no JSON object: ${raw}`);
  let total = 0;
  let tensors = 0;
  const elements = new Map<string, number>();
  for (const [name, entry] of Object.entries(raw)) {
    if (name === "__metadata__") continue;
    const tensor = readTensor(entry);
    if (typeof tensor === "string") return invalid(`the tensor ${name.slice(0, 80)} ${tensor}`);
    tensors += 1;
    total += tensor.bytes;
    elements.set(tensor.type, (elements.get(tensor.type) ?? 0) + tensor.elements);
  }
  return ok({ tensors, bytes: total, elements: Object.fromEntries(elements) });
}

const more = (bytes: number): SafetensorsFailure => ({
  kind: "more",
  bytes,
  message: `need more bytes: ${String(bytes)}`,
});

interface Tensor {
  readonly type: string;
  readonly elements: number;
  readonly bytes: number;
}

/** One entry, or what is wrong with it. */
function readTensor(entry: unknown): Tensor | string {
  const { dtype, shape, data_offsets: offsets } = asObject(entry) ?? {};
  const type = typeof dtype === "string" ? dtype : "";
  const bits = Object.hasOwn(BITS, type) ? BITS[type] : undefined;
  if (bits === undefined) return "has no known type";
  if (!isSizes(shape)) return "has no shape";
  const elements = shape.reduce((product, size) => product * size, 1);
  const bytes = Math.ceil((elements * bits) / 8);
  if (!Number.isSafeInteger(bytes) || bytes !== lengthOf(offsets)) {
    return "has another size in the file than its shape and type make";
  }
  return { type, elements, bytes };
}

function lengthOf(offsets: unknown): number | undefined {
  if (!isSizes(offsets) || offsets.length !== 2) return undefined;
  const [begin = 0, end = 0] = offsets;
  return end - begin;
}

const isSizes = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);

export interface SafetensorsIndex {
  /** Of all tensors; undefined when the index does not say. */
  readonly totalSize: number | undefined;
  /** The files that it names, each once. */
  readonly files: readonly string[];
}

/** Reads model.safetensors.index.json. The error says what is wrong with it. */
export function parseSafetensorsIndex(text: string): Result<SafetensorsIndex, string> {
  if (text.length > MAX_JSON) return err("it is longer than any index of safetensors");
  const raw = parseObject(text);
  if (typeof raw === "string") return err(`it is no JSON object: ${raw}`);
  const total = asObject(raw["metadata"])?.["total_size"];
  const files = Object.values(asObject(raw["weight_map"]) ?? {}).filter((name) => typeof name === "string");
  if (files.length === 0) return err("it has no weight_map");
  const isSize = typeof total === "number" && Number.isSafeInteger(total) && total > 0;
  return ok({ totalSize: isSize ? total : undefined, files: [...new Set(files)] });
}

const asObject = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

/** The object, or why it is none. */
function parseObject(text: string): Fields | string {
  try {
    return asObject(JSON.parse(text)) ?? "it is another kind of value";
  } catch (error) {
    return messageOf(error);
  }
}
