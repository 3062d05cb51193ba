import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, type TestContext } from "vitest";
import type { InstallFailure } from "../../src/agent/install/failure.ts";
import {
  createEngineProvider,
  type EngineProvider,
  type EngineProviderOptions,
} from "../../src/agent/install/provider.ts";
import type { EngineBuild } from "../../src/core/node.ts";
import { millis } from "../../src/core/ids.ts";
import type { Progress } from "../../src/core/replica-state.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader, type Downloader } from "../../src/platform/fetch/download.ts";
import { bareNode } from "./bare-node.ts";
import { type IndexedWheel, type IndexServer, startIndex } from "./index-server.ts";
import { pythonEngine } from "./python-engine.ts";
import { makeWheel, type SmallPackage } from "./python-wheel.ts";
import { realUvWheel, seedUv } from "./real-uv.ts";

/** Answers as the stand-in's program does: its version, and 0 for a look at its help. */
export const MAIN = `if "--version" in sys.argv:
    import small_helper
    print("standin", standin.__version__, "with", small_helper.__version__)
elif "--serve" in sys.argv:
    import time
    print("up", flush=True)
    time.sleep(120)`;

export const standIn = (version: string, change: Partial<SmallPackage> = {}): SmallPackage => ({
  project: "standin",
  version,
  requires: ["small-helper"],
  main: MAIN,
  ...change,
});

/** The real interpreter behind whatever python3 on PATH is; undefined: there is none. */
const interpreter = ((): string | undefined => {
  try {
    return execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
})();

/** An agent's engines folder and an index with a stand-in for an engine of Python, installed by the real uv. */
export class PythonBench {
  base = "";
  index: IndexServer | undefined;
  /** What the index offers, by project. */
  readonly projects: Record<string, IndexedWheel[]> = {};
  readonly seen: Progress[] = [];
  #downloader: Downloader | undefined;
  #uv: Awaited<ReturnType<typeof realUvWheel>> = "not asked yet";

  /** Unless said, the node has fetched uv before. */
  constructor({ hasUv = true } = {}) {
    beforeEach(async (context: TestContext) => {
      this.#uv = await realUvWheel();
      if (interpreter === undefined) context.skip("there is no python3 on this machine");
      if (typeof this.#uv === "string") context.skip(`no real uv: ${this.#uv}`);
      this.base = await mkdtemp(join(tmpdir(), "llmgw-python-"));
      await mkdir(join(this.base, "bin"));
      await symlink(interpreter, join(this.base, "bin", "python3"));
      this.#downloader = createDownloader({
        env: {},
        clock: systemClock,
        retry: { tries: 2, firstDelay: millis(1), maxDelay: millis(1) },
      });
      for (const name of Object.keys(this.projects)) Reflect.deleteProperty(this.projects, name);
      this.seen.length = 0;
      this.index = await startIndex(this.projects);
      this.publish({ project: "small-helper", version: "3.1" });
      this.projects["uv"] = [this.#uv];
      if (hasUv) await seedUv(this.#uv.name, this.enginesDir);
    });
    afterEach(async () => {
      await this.#downloader?.close();
      await this.index?.close();
      if (this.base !== "") await rm(this.base, { recursive: true, maxRetries: 5 });
      this.base = "";
    });
  }

  get enginesDir(): string {
    return join(this.base, "engines");
  }

  get mirror(): string {
    return this.index?.url ?? "";
  }

  publish(one: SmallPackage, change: Partial<IndexedWheel> = {}, project = one.project): void {
    (this.projects[project] ??= []).push({ ...makeWheel(one), ...change });
  }

  /** The agent's environment: PATH holds Python and nothing else. */
  get env(): Readonly<Record<string, string>> {
    return { PATH: join(this.base, "bin"), HOME: this.base, PIP_CONFIG_FILE: "/dev/null", PIP_INDEX_URL: this.mirror };
  }

  /** Paths, of the index and of the host of its files, in this order. */
  requests(): readonly string[] {
    return [...(this.index?.index.requests ?? []), ...(this.index?.files.requests ?? [])].map(({ path }) => path);
  }

  /** Paths of files that were fetched, and not only looked into as uv does for what a wheel says of itself. */
  fetches(): readonly string[] {
    const byUv = /^uv\//;
    const all = this.index?.files.requests ?? [];
    return all.filter(({ headers }) => !byUv.test(String(headers["user-agent"]))).map(({ path }) => path);
  }

  /** The address of an index that wants a login. */
  async withLogin(login: string): Promise<string> {
    await this.index?.close();
    this.index = await startIndex(this.projects, { login });
    return this.index.url;
  }

  async fetchedUv(): Promise<string> {
    const folder = join(this.enginesDir, "uv");
    const [name = ""] = await readdir(folder);
    return join(folder, name);
  }

  /** An executable shell script below the bench's folder. */
  async script(name: string, body: string): Promise<string> {
    const path = join(this.base, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    return path;
  }

  /** The wheels in a folder of their own, as somebody brings them to a machine without a network. */
  async wheelhouse(packages: readonly SmallPackage[], withUv = true): Promise<string> {
    const folder = join(this.base, "wheelhouse");
    await mkdir(folder, { recursive: true });
    const wheels = packages.map(makeWheel);
    if (withUv && typeof this.#uv !== "string") wheels.push(this.#uv);
    for (const { name, data } of wheels) await writeFile(join(folder, name), data);
    return folder;
  }

  provider(change: Partial<EngineProviderOptions> = {}): EngineProvider {
    if (this.#downloader === undefined) throw new Error("only within a test");
    return createEngineProvider({
      ...bareNode,
      enginesDir: this.enginesDir,
      env: this.env,
      downloader: this.#downloader,
      engineOf: (name) => (name === "vllm" ? pythonEngine() : undefined),
      ...change,
    });
  }

  async ensure(
    version: string,
    source: string,
    change: Partial<EngineProviderOptions> = {},
  ): Promise<EngineBuild | InstallFailure> {
    return await this.ensureWith(this.provider(change), version, source);
  }

  async ensureWith(provider: EngineProvider, version: string, source: string): Promise<EngineBuild | InstallFailure> {
    const { signal } = new AbortController();
    const onProgress = (progress: Progress): void => void this.seen.push(progress);
    const outcome = await provider.ensure("vllm", { version, source }, { onProgress, signal });
    return outcome.ok ? outcome.value : outcome.error;
  }

  /** The names in the engine's folder. */
  async folder(): Promise<readonly string[]> {
    const names = await readdir(join(this.enginesDir, "vllm")).catch(() => []);
    return names.filter((name) => name !== "home").toSorted();
  }

  async downloads(): Promise<readonly string[]> {
    return await readdir(join(this.enginesDir, "vllm", "downloads")).catch(() => []);
  }
}
