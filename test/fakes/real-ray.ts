import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const VERSION = "2.60.0";
const FOLDER = resolve(import.meta.dirname, `../.cache/ray-${VERSION}`);
const run = promisify(execFile);

/**
 * The `bin` folder of a Python that has the real Ray from PyPI, kept between runs. Undefined, with a printed reason, where it
 * cannot be installed.
 */
export async function realRay(): Promise<string | undefined> {
  const bin = join(FOLDER, "bin");
  if (existsSync(join(FOLDER, "whole"))) return bin;
  try {
    await rm(FOLDER, { recursive: true, force: true });
    await mkdir(resolve(FOLDER, ".."), { recursive: true });
    await run("python3", ["-m", "venv", FOLDER], { timeout: 60_000 });
    const wanted = ["install", "--quiet", "--only-binary", ":all:", `ray==${VERSION}`];
    await run(join(bin, "pip"), wanted, { timeout: 240_000 });
    await mkdir(join(FOLDER, "making"));
    await rename(join(FOLDER, "making"), join(FOLDER, "whole"));
    return bin;
  } catch (error) {
    process.stderr.write(
      `\nRay ${VERSION} is not tried: it cannot be installed here (${String(error).slice(0, 500)})\n`,
    );
    return undefined;
  }
}
