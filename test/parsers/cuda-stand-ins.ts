// torch is linked against NVIDIA's libraries, three gigabytes that no parser of a command line calls. In their place it
// finds libraries of the same names whose every function answers that there is no device.
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./run-tool.ts";

const NVIDIA = /^lib(cu|nccl|nv)/;
/** cudaErrorNoDevice, and of the other libraries an error as well. */
const NO_DEVICE = 100;
/** Symbols of this one are versioned by another name than the file's. */
const VERSION_OF_OTHER_NAME: Readonly<Record<string, RegExp>> = { NVSHMEM: /^libnvshmem_host/ };

/** Makes those that the libraries in torch's folder ask for and do not find beside them. */
export async function makeCudaStandIns(folder: string, scratch: string): Promise<void> {
  const there = await readdir(folder);
  const libraries = there.filter((name) => name.endsWith(".so")).map((name) => join(folder, name));
  const asked = await Promise.all(libraries.map(neededBy));
  const needed = new Set(asked.flat().filter((name) => NVIDIA.test(name) && !there.includes(name)));
  const undefinedOnes = await Promise.all(libraries.map(undefinedIn));
  const symbols = Map.groupBy(undefinedOnes.flat(), ({ version }) => version);
  for (const library of needed) await makeOne(library, { folder, scratch, symbols });
}

async function neededBy(path: string): Promise<readonly string[]> {
  const text = await run(["readelf", "-dW", path]);
  return [...text.matchAll(/\(NEEDED\).*\[(.+)\]/g)].flatMap(([, name]) => name ?? []);
}

interface Symbol {
  readonly name: string;
  /** "" when it has none. */
  readonly version: string;
}

async function undefinedIn(path: string): Promise<readonly Symbol[]> {
  const text = await run(["nm", "-D", "--undefined-only", path]);
  const found = text.matchAll(/ U ((?:_*cu|nccl|nv)\w*)(?:@([\w.]+))?/g);
  return [...found].map(([, name = "", version = ""]) => ({ name, version }));
}

interface Making {
  readonly folder: string;
  readonly scratch: string;
  readonly symbols: ReadonlyMap<string, readonly Symbol[]>;
}

async function makeOne(library: string, { folder, scratch, symbols }: Making): Promise<void> {
  const version = [...symbols.keys()].find(
    (name) => (VERSION_OF_OTHER_NAME[name]?.test(library) ?? false) || name === library,
  );
  // What has no version is looked for in all of them.
  const isForTheRest = library.startsWith("libnccl");
  const own = [...(symbols.get(version ?? "-") ?? []), ...(isForTheRest ? (symbols.get("") ?? []) : [])];
  const names = new Set(own.map(({ name }) => name));
  const source = join(scratch, "stand-in.c");
  await writeFile(
    source,
    [...[...names].map((name) => `int ${name}(void) { return ${String(NO_DEVICE)}; }`), "int nothing;\n"].join("\n"),
  );
  const map = join(scratch, "stand-in.map");
  await writeFile(map, `${version ?? ""} { global: *; };\n`);
  const versioned = version === undefined ? [] : [`-Wl,--version-script=${map}`];
  await run([
    "cc",
    "-shared",
    "-fPIC",
    "-w",
    source,
    "-o",
    join(folder, library),
    `-Wl,-soname,${library}`,
    ...versioned,
  ]);
}
