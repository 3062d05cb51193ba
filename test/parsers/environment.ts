import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fingerprint } from "../../src/core/fingerprint.ts";
import { makeCudaStandIns } from "./cuda-stand-ins.ts";
import { CannotAsk, run } from "./run-tool.ts";

const HERE = import.meta.dirname;
const CACHE = join(HERE, "../.cache/parsers");
/** What all of the releases below can be installed in. */
const PYTHON = ">=3.11,<3.14";

export interface Environment {
  readonly python: string;
  /** What the program is to find its own packages by. */
  readonly variables: Readonly<Record<string, string>>;
}

/** An environment with everything in it but SGLang; made once, and again when the list of packages changes. */
export async function sharedEnvironment(tell: (line: string) => void): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new CannotAsk(`the releases are looked at on Linux on x86-64, not on ${process.platform} on ${process.arch}`);
  }
  const list = join(HERE, "requirements.txt");
  const folder = join(CACHE, fingerprint(await readFile(list, "utf8")));
  const mark = join(folder, "whole");
  if (existsSync(mark)) return folder;
  await rm(CACHE, { recursive: true, force: true });
  await mkdir(CACHE, { recursive: true });
  tell("fetching the releases (about 1.4 GB, once)");
  await makeEnvironment(folder);
  await install(folder, ["-r", list]);
  tell("making empty libraries in place of NVIDIA's");
  await makeCudaStandIns(join(await sitePackages(folder), "torch/lib"), folder);
  await writeFile(mark, "");
  return folder;
}

/** A version of SGLang beside the shared environment. */
export async function sglangEnvironment(shared: string, version: string): Promise<Environment> {
  const target = join(shared, `sglang-${version}`);
  if (!existsSync(join(target, "sglang"))) {
    await install(shared, [`sglang==${version}`, "--target", target]);
  }
  return { python: pythonOf(shared), variables: { PYTHONPATH: target } };
}

export const pythonOf = (folder: string): string => join(folder, "bin/python");

async function makeEnvironment(folder: string): Promise<void> {
  if (await hasUv()) {
    await run(["uv", "venv", "--quiet", "--python", PYTHON, folder], { UV_PYTHON_DOWNLOADS: "never" });
    return;
  }
  const version = (await run(["python3", "-c", "import sys; print(sys.version_info[1])"])).trim();
  if (Number(version) < 11 || Number(version) > 13) {
    throw new CannotAsk(`neither uv nor a Python of ${PYTHON} is here; python3 is 3.${version}`);
  }
  await run(["python3", "-m", "venv", folder]);
}

async function install(folder: string, what: readonly string[]): Promise<void> {
  if (await hasUv()) {
    const common = ["--quiet", "--no-deps", "--python", pythonOf(folder)];
    // The cache is thrown away with the environment; its files are links to it.
    await run(["uv", "pip", "install", ...common, ...what], { UV_CACHE_DIR: join(CACHE, "uv") });
    return;
  }
  await run([pythonOf(folder), "-m", "pip", "install", "--quiet", "--no-deps", ...what]);
}

const hasUv = (): Promise<boolean> =>
  run(["uv", "--version"]).then(
    () => true,
    () => false,
  );

async function sitePackages(folder: string): Promise<string> {
  const [version = ""] = await readdir(join(folder, "lib"));
  return join(folder, "lib", version, "site-packages");
}
