import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chownSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngineProvider, type EngineProviderOptions } from "../../src/agent/install/provider.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader, type Downloader } from "../../src/platform/fetch/download.ts";
import { isExecutableFile } from "../../src/platform/folders.ts";
import { glibcVersion } from "../../src/platform/libc.ts";
import { bareNode } from "../fakes/bare-node.ts";
import { sendBytes } from "../fakes/release-server.ts";

const NOBODY = 65_534;
const isDebian = await isExecutableFile("/usr/bin/apt-get");
const isRoot = process.getuid?.() === 0;
if (!isDebian) console.log("skipped: there is no apt-get on this machine, so nothing of Debian's is installed");
else if (!isRoot) console.log("skipped: only root can try an installation as another user");
let base = "";
let downloader: Downloader;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "llmgw-debian-"));
  downloader = createDownloader({ env: process.env, clock: systemClock });
});
afterAll(async () => {
  await downloader.close();
  await rm(base, { recursive: true });
});

const options = (enginesDir: string): EngineProviderOptions => ({
  ...bareNode,
  enginesDir,
  env: process.env,
  downloader,
});
const request = { onProgress: () => undefined, signal: new AbortController().signal };

/** Undefined when Debian's archive cannot be reached from here, which is no fault of ours. */
async function installed(): Promise<string | undefined> {
  const source = { version: "", source: "debian" };
  const outcome = await createEngineProvider(options(join(base, "engines"))).ensure("llama.cpp", source, request);
  if (!outcome.ok && outcome.error.kind === "unreachable") return undefined;
  if (!outcome.ok) throw new Error(outcome.error.message);
  expect(outcome.value).toMatchObject({ name: "llama.cpp", origin: "installed" });
  expect(outcome.value.version).toMatch(/^b\d+$/);
  return outcome.value.path;
}

test.runIf(isDebian)("Debian's real build is installed without root's help and answers", async (context) => {
  const path = await installed();
  if (path === undefined) return context.skip("Debian's archive cannot be reached");
  expect(await isExecutableFile(path)).toBe(true);
  expect(execFileSync(path, ["--help"], { encoding: "utf8", env: {} })).toContain("--cache-ram");
  expect(await installed()).toBe(path);
});

test.runIf(isDebian && isRoot)("an ordinary user can do it too", async (context) => {
  if ((await installed()) === undefined) return context.skip("Debian's archive cannot be reached");
  const home = await mkdtemp(join(tmpdir(), "llmgw-nobody-"));
  try {
    chownSync(home, NOBODY, NOBODY);
    const script = join(import.meta.dirname, "../fakes/install-once.ts");
    const argv = [process.execPath, script, join(home, "engines"), "http://127.0.0.1:9", "", "debian"];
    const uid = `--reuid=${String(NOBODY)}`;
    const output = execFileSync("/usr/bin/setpriv", [uid, `--regid=${String(NOBODY)}`, "--clear-groups", ...argv], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "", HOME: home },
    });
    expect(JSON.parse(output)).toMatchObject({ ok: true, value: { origin: "installed" } });
  } finally {
    await rm(home, { recursive: true });
  }
});

test.runIf(isDebian)("a mirror's archive with a real engine in it", async (context) => {
  const path = await installed();
  if (path === undefined) return context.skip("Debian's archive cannot be reached");
  if (process.arch !== "x64" || (glibcVersion() ?? "0") < "2.35")
    return context.skip("a mirror has builds for newer x64 systems");
  const tag = "b99999";
  const name = `llama-${tag}-bin-ubuntu-x64.tar.gz`;
  const archive = join(base, name);
  execFileSync("tar", ["-czf", archive, "-C", dirname(path), `--transform=s,^\\.,llama-${tag},RSh`, "."]);
  const bytes = await readFile(archive);
  const sums = Buffer.from(`${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`);
  const mirror = createServer((incoming, response) => {
    sendBytes(incoming, response, incoming.url === "/SHA256SUMS" ? sums : bytes);
  });
  await new Promise<void>((resolve) => mirror.listen(0, "127.0.0.1", resolve));
  try {
    const source = { version: tag, source: `http://127.0.0.1:${String((mirror.address() as AddressInfo).port)}` };
    const engines = createEngineProvider(options(join(base, "mirrored")));
    const outcome = await engines.ensure("llama.cpp", source, request);
    expect(outcome).toMatchObject({ ok: true, value: { origin: "installed" } });
    expect(outcome.ok ? outcome.value.path : "").toContain("/mirrored/");
  } finally {
    mirror.closeAllConnections();
    mirror.close();
  }
});
