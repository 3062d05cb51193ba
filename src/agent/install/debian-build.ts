import { basename, join } from "node:path";
import { err, ok, type Result } from "../../core/result.ts";
import { cpuVariants } from "../../engines/llamacpp/cpu-variant.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import { listFilesBelow, makeExecutable } from "../../platform/folders.ts";
import { failed, type InstallFailure } from "./failure.ts";
import { machineCpuFlags } from "./probe.ts";

/** Where the packages are unpacked, in the build's folder. */
export const ROOT = "root";

export interface DebianLayout {
  /** Debian's name of the architecture. */
  readonly debianArch: string;
  readonly libraries: string;
  readonly loader: string;
}

const LAYOUTS: Readonly<Record<string, DebianLayout>> = {
  x64: {
    debianArch: "amd64",
    libraries: "usr/lib/x86_64-linux-gnu",
    loader: "usr/lib64/ld-linux-x86-64.so.2",
  },
  arm64: {
    debianArch: "arm64",
    libraries: "usr/lib/aarch64-linux-gnu",
    loader: "usr/lib/ld-linux-aarch64.so.1",
  },
};

/** By Node's name of the architecture; undefined where Debian's packages were not tried. */
export const debianLayout = (arch: string): DebianLayout | undefined => LAYOUTS[arch];

/** The unpacked packages with a start script beside them. */
export interface DebianBuild {
  readonly binary: string;
  /** The fastest that this CPU says it can run, then the most portable one. `use` writes the start script for it. */
  readonly variants: readonly { readonly name: string; readonly use: () => Promise<void> }[];
}

const PROGRAM = "llama-server";

export async function openDebianBuild(
  folder: string,
  layout: DebianLayout,
): Promise<Result<DebianBuild, InstallFailure>> {
  const backends = await findBackends(join(folder, ROOT, layout.libraries, "ggml"));
  const usable = cpuVariants([...backends.keys()], await machineCpuFlags());
  const names = [...new Set([usable.at(0), usable.at(-1)])].flatMap((name) => name ?? []);
  if (names.length === 0) return err(failed("no-build", "Debian's packages bring no CPU backend for this machine"));
  const binary = join(folder, PROGRAM);
  const variants = names.map((name) => ({
    name,
    use: async () => {
      await writeFileAtomic(binary, startScript(layout, `ggml/${backends.get(name) ?? ""}`), 0o755);
      await makeExecutable(binary);
    },
  }));
  return ok({ binary, variants });
}

/** Paths by the variants' names. */
async function findBackends(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = await listFilesBelow(folder).catch(() => []);
  const pairs = files.flatMap((path) => {
    const [, name] = /^libggml-cpu-(.+)\.so$/.exec(basename(path)) ?? [];
    return name === undefined ? [] : [[name, path] as const];
  });
  return new Map(pairs);
}

/**
 * Starts the program by the folder's own loader with the folder's own libraries, since the system's may be too old for it,
 * and names the CPU backend, since the place it would look in is the system's. It becomes the program: the pid stays.
 */
function startScript({ libraries, loader }: DebianLayout, backend: string): string {
  return `#!/bin/sh
here=\${0%/*}/${ROOT}
lib=$here/${libraries}
GGML_BACKEND_PATH=$lib/${backend}
export GGML_BACKEND_PATH
exec "$here/${loader}" --library-path "$lib:$lib/llama" "$here/usr/bin/${PROGRAM}" "$@"
`;
}
