import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

export const CACHE = resolve(import.meta.dirname, "../../test/.cache/bench");
export const run = promisify(execFile);
const TIME = 120_000;

/** A program of the distribution. */
export interface Unpacked {
  readonly path: string;
  /** For the libraries that came with it. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The program where it is installed, else out of its packages: fetched and unpacked below test/.cache, and nothing is
 * installed. Rejects where there is neither.
 */
export async function debianProgram(program: string, packages: readonly string[]): Promise<Unpacked> {
  const installed = [`/usr/sbin/${program}`, `/usr/local/sbin/${program}`].find(existsSync);
  if (installed !== undefined) return { path: installed, env: {} };
  const root = join(CACHE, program);
  if (!existsSync(root)) await unpack(root, packages);
  const folders = await readdir(join(root, "usr/lib")).catch(() => []);
  const triplets = folders.filter((name) => name.includes("-linux-"));
  const libraries = triplets.map((name) => join(root, "usr/lib", name)).join(":");
  return { path: join(root, "usr/sbin", program), env: libraries === "" ? {} : { LD_LIBRARY_PATH: libraries } };
}

async function unpack(root: string, packages: readonly string[]): Promise<void> {
  const part = `${root}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true });
  await run("apt-get", ["download", ...packages], { cwd: part, timeout: TIME });
  for (const name of await readdir(part)) {
    if (name.endsWith(".deb")) await run("dpkg-deb", ["-x", name, "."], { cwd: part, timeout: TIME });
  }
  await rename(part, root);
}
