import { type Bytes, bytes } from "../../core/ids.ts";
import type { ReadStart } from "./read-facts.ts";
import { parseSafetensorsHeader, parseSafetensorsIndex } from "./safetensors-header.ts";

const INDEX = /\.safetensors\.index\.json$/;
const WEIGHTS = /\.safetensors$/;
/** The longest that is read; that of a model with hundreds of thousands of tensors. */
const INDEX_LIMIT = 25_000_000;
/** Holds the header of a file with a few hundred tensors. */
const FIRST_READ = 64 * 1024;
/** More files than any model has; each is asked for its header. */
const MOST_FILES = 300;

/**
 * Of all weights together, for a source that does not say how large its files are: what the index says, else what the files'
 * own headers add up to. `names`: the files that would be fetched. Undefined: neither says.
 */
export async function safetensorsSize(names: readonly string[], read: ReadStart): Promise<Bytes | undefined> {
  const index = names.find((name) => INDEX.test(name));
  return (index === undefined ? undefined : await byIndex(index, read)) ?? (await byHeaders(names, read));
}

async function byIndex(name: string, read: ReadStart): Promise<Bytes | undefined> {
  const start = await read(name, INDEX_LIMIT);
  const index = start.ok ? parseSafetensorsIndex(new TextDecoder().decode(start.value)) : undefined;
  return index?.ok === true && index.value.totalSize !== undefined ? bytes(index.value.totalSize) : undefined;
}

async function byHeaders(names: readonly string[], read: ReadStart): Promise<Bytes | undefined> {
  const files = names.filter((name) => WEIGHTS.test(name));
  if (files.length === 0 || files.length > MOST_FILES) return undefined;
  let total = 0;
  for (const name of files) {
    const size = await sizeOf(name, read);
    // A sum without one of them would be a lie.
    if (size === undefined) return undefined;
    total += size;
  }
  return bytes(total);
}

async function sizeOf(name: string, read: ReadStart): Promise<number | undefined> {
  let want = FIRST_READ;
  for (;;) {
    const start = await read(name, want);
    if (!start.ok) return undefined;
    const header = parseSafetensorsHeader(start.value);
    if (header.ok) return header.value.bytes;
    if (header.error.kind === "invalid" || start.value.length < want) return undefined;
    want = header.error.bytes;
  }
}
