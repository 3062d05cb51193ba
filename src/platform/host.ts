import { readFile, stat, statfs } from "node:fs/promises";
import { arch, availableParallelism, hostname, release, type } from "node:os";
import { dirname } from "node:path";
import { bytes } from "../core/ids.ts";
import type { Disk } from "../core/node.ts";
import { isErrno } from "./files.ts";

/** What a machine says of itself once and for all. */
export interface HostFacts {
  readonly hostname: string;
  /** Such as "Debian GNU/Linux 12 (bookworm), Linux 6.1.0". */
  readonly os: string;
  readonly arch: string;
  readonly cpus: number;
}

export async function readHostFacts(): Promise<HostFacts> {
  const kernel = `${type()} ${release()}`;
  const distribution = await readFile("/etc/os-release", "utf8").then(prettyName, () => undefined);
  return {
    hostname: hostname(),
    os: distribution === undefined ? kernel : `${distribution}, ${kernel}`,
    arch: arch(),
    cpus: availableParallelism(),
  };
}

function prettyName(osRelease: string): string | undefined {
  return /^PRETTY_NAME="?([^"\n]+)"?$/m.exec(osRelease)?.[1];
}

/** The text of a file of the kernel's, or undefined when it is not there or not to be read. */
export async function readKernelFile(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Size and free space of the file system that the folder is or will be on; undefined when it cannot be asked. */
export async function readDisk(path: string): Promise<Disk | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(path);
    return { path, total: bytes(blocks * bsize), free: bytes(bavail * bsize) };
  } catch (error) {
    const parent = dirname(path);
    if (!isErrno(error, "ENOENT") || parent === path) return undefined;
    const above = await readDisk(parent);
    return above === undefined ? undefined : { ...above, path };
  }
}
