import { access, chmod, constants, copyFile, mkdir, readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pipIndexes, readProjectPage } from "../../src/agent/python-index/project-page.ts";
import { chooseWheel } from "../../src/agent/python-index/simple-index.ts";
import { fitsPlatform } from "../../src/agent/python-index/wheel-name.ts";
import { extractZipMember } from "../../src/platform/zip.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader } from "../../src/platform/fetch/download.ts";
import { glibcVersion } from "../../src/platform/libc.ts";

const CACHE = resolve(import.meta.dirname, "../.cache/uv");

/** The real uv, as its wheel on PyPI; kept in test/.cache. Otherwise a sentence that says why there is none. */
export async function realUvWheel(): Promise<{ readonly name: string; readonly data: Buffer } | string> {
  await mkdir(CACHE, { recursive: true });
  const [kept] = (await readdir(CACHE)).filter((name) => name.endsWith(".whl"));
  if (kept !== undefined) return { name: kept, data: await readFile(join(CACHE, kept)) };
  const downloader = createDownloader({ env: process.env, clock: systemClock });
  const { signal } = new AbortController();
  try {
    const [index = ""] = await pipIndexes(process.env);
    const page = await readProjectPage(index, "uv", { downloader, signal });
    if (!page.ok) return `PyPI cannot be read from here: ${page.error.kind}`;
    const target = { os: process.platform, arch: process.arch, glibc: glibcVersion() };
    const wheel = chooseWheel(page.value.files, "uv", { fits: (name) => fitsPlatform(name, target) });
    if (wheel?.sha256 === undefined) return "PyPI has no uv for this machine";
    const { url, sha256 } = wheel;
    const fetched = await downloader.file({ url, sha256, target: join(CACHE, wheel.name) });
    return fetched.ok ? { name: wheel.name, data: await readFile(fetched.value.path) } : fetched.error.message;
  } finally {
    await downloader.close();
  }
}

/** Puts the program out of the wheel where a node that has fetched it before has it. */
export async function seedUv(wheel: string, enginesDir: string): Promise<void> {
  const [, version = ""] = wheel.split("-");
  const program = join(CACHE, `uv-${version}`);
  const isThere = await access(program).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    const taken = await extractZipMember(join(CACHE, wheel), `uv-${version}.data/scripts/uv`, program);
    if (!taken.ok) throw new Error(taken.error.message);
    await chmod(program, 0o755);
  }
  await mkdir(join(enginesDir, "uv"), { recursive: true });
  await copyFile(program, join(enginesDir, "uv", `uv-${version}`), constants.COPYFILE_FICLONE);
}
