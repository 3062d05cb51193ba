import { resolve } from "node:path";
import { LlmgwError } from "../../core/errors.ts";
import { readTextIfThere } from "../../platform/files.ts";
import { entriesOf } from "../../platform/folder.ts";
import type { Call } from "../command.ts";
import { readStdin } from "../io.ts";

export interface Manifest {
  /** For messages: the path, or "stdin". */
  readonly fileName: string;
  readonly text: string;
}

const MANIFEST = /\.(ya?ml|json)$/;

/**
 * Reads files, the manifests of folders (not of folders in them) and "-" for stdin, in the order they were named. What is
 * named twice, such as a folder and a file of it, is read once.
 */
export async function readManifests({ flags, args, io }: Call): Promise<readonly Manifest[]> {
  const paths = [...flags.list("file"), ...args];
  const read = new Map<string, Manifest>();
  for (const path of paths) {
    if (path === "-") read.set(path, read.get(path) ?? { fileName: "stdin", text: await readStdin(io) });
    else for (const manifest of await readPath(path)) read.set(resolve(manifest.fileName), manifest);
  }
  return [...read.values()];
}

async function readPath(path: string): Promise<readonly Manifest[]> {
  const entries = await entriesOf(path);
  if (entries === undefined) return [await readOne(path)];
  const files = entries.filter((entry) => MANIFEST.test(entry));
  if (files.length === 0) throw new LlmgwError("BAD_REQUEST", `The folder ${path} holds no .yaml, .yml or .json file.`);
  return Promise.all(files.map(readOne));
}

async function readOne(path: string): Promise<Manifest> {
  const text = await readTextIfThere(path);
  if (text === undefined) throw new LlmgwError("BAD_REQUEST", `There is no file ${path}.`);
  return { fileName: path, text };
}
