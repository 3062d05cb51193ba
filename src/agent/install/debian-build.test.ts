import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { runProgram } from "../../platform/run.ts";
import { debianLayout, openDebianBuild } from "./debian-build.ts";

const layout = debianLayout("x64") ?? { debianArch: "", libraries: "", loader: "" };
const most = process.arch === "arm64" ? "armv8.0_1" : "x64";
let base = "";

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "llmgw-debian-"));
});
afterEach(async () => {
  await rm(base, { recursive: true });
});

/** A loader that says how it was called, in place of the one that would load. */
async function unpacked(folder: string, backends: readonly string[]): Promise<void> {
  const loader = join(folder, "root", layout.loader);
  const backendFolder = join(folder, "root", layout.libraries, "ggml/backends0");
  await mkdir(join(loader, ".."), { recursive: true });
  await mkdir(backendFolder, { recursive: true });
  await writeFile(loader, '#!/bin/sh\necho "pid $$"\nprintf "%s\\n" "$GGML_BACKEND_PATH" "$@"\n');
  await chmod(loader, 0o755);
  for (const name of backends) await writeFile(join(backendFolder, `libggml-cpu-${name}.so`), "");
}

test("the start script runs the program by the folder's own loader, wherever the folder is, and becomes it", async () => {
  const staging = join(base, "staging");
  await unpacked(staging, [most, "future9"]);
  const build = await openDebianBuild(staging, layout);
  if (!build.ok) throw new Error(build.error.message);
  expect(build.value.variants.map((variant) => variant.name)).toEqual([most]);
  await build.value.variants[0]?.use();
  const moved = join(base, "with a space");
  await rename(staging, moved);
  const outcome = await runProgram(
    ["sh", "-c", 'echo "pid $$"; exec "$0" --port 1 "a b"', join(moved, "llama-server")],
    {
      env: { PATH: "/usr/bin:/bin" },
      timeout: millis(20_000),
    },
  );
  const [shell, program, ...rest] = outcome.kind === "ended" ? outcome.stdout.trim().split("\n") : [];
  expect(program).toBe(shell);
  const root = join(moved, "root");
  const libraries = join(root, layout.libraries);
  expect(rest).toEqual([
    join(libraries, `ggml/backends0/libggml-cpu-${most}.so`),
    "--library-path",
    `${libraries}:${join(libraries, "llama")}`,
    join(root, "usr/bin/llama-server"),
    "--port",
    "1",
    "a b",
  ]);
});

test("B69 without a backend for this CPU there is no build", async () => {
  await unpacked(base, ["future9"]);
  expect(await openDebianBuild(base, layout)).toMatchObject({ ok: false, error: { kind: "no-build" } });
});
