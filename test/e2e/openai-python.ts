import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { err, ok, type Result } from "../../src/core/result.ts";

const VERSION = "3.57.0";
/** Kept between runs. */
const VENV = resolve(import.meta.dirname, `../.cache/openai-python-${VERSION}`);
const SCRIPT = resolve(import.meta.dirname, "openai_python.py");
const run = promisify(execFile);

/** What the script says of the router; or why it could not be run at all: no Python, or no PyPI. */
export async function runOpenaiPython(env: Readonly<Record<string, string>>): Promise<Result<unknown, string>> {
  const python = resolve(VENV, "bin/python");
  if (!existsSync(resolve(VENV, "ready"))) {
    const made = await makeVenv(python);
    if (!made.ok) return made;
  }
  const { stdout } = await run(python, [SCRIPT], { env: { ...process.env, ...env } });
  return ok(JSON.parse(stdout));
}

async function makeVenv(python: string): Promise<Result<undefined, string>> {
  try {
    await rm(VENV, { recursive: true, force: true });
    await run("python3", ["-m", "venv", VENV]);
    await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `openai==${VERSION}`]);
    // Last, so that a venv that was cut off half-way is made again.
    await run(python, [
      "-c",
      `import openai, pathlib; pathlib.Path(${JSON.stringify(resolve(VENV, "ready"))}).touch()`,
    ]);
    return ok(undefined);
  } catch (error) {
    return err(`no Python with openai ${VERSION} here: ${String(error).split("\n")[0] ?? ""}`);
  }
}
