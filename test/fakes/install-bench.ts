import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { InstallRequest } from "../../src/agent/install/context.ts";
import type { InstallFailure } from "../../src/agent/install/failure.ts";
import {
  createEngineProvider,
  type EngineProvider,
  type EngineProviderOptions,
} from "../../src/agent/install/provider.ts";
import type { EngineSource } from "../../src/core/desired.ts";
import { millis } from "../../src/core/ids.ts";
import type { EngineBuild } from "../../src/core/node.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader, type Downloader } from "../../src/platform/fetch/download.ts";
import { bareNode } from "./bare-node.ts";
import { engineArchive, type FakeEngine } from "./engine-archive.ts";
import { ReleaseServer } from "./release-server.ts";

const { arch } = process;
export const CPU = (tag: string): string => `llama-${tag}-bin-ubuntu-${arch}.tar.gz`;
export const CUDA = (tag: string): string => `llama-${tag}-bin-ubuntu-cuda-12.8-${arch}.tar.gz`;
export const CUDART = (tag: string): string => `cudart-${CUDA(tag)}`;
export const github = (version: string): EngineSource => ({ version, source: "github" });

/** A shell script that has a version and no more. */
export const SAYS_VERSION =
  'case "$1" in --version) echo "version: 1 (build 77, commit x)";; *) echo "Available devices:";; esac';

export const request = (signal = new AbortController().signal): InstallRequest => ({
  onProgress: () => undefined,
  signal,
});

/** An agent's engines folder and a server to install from, new for each test of the file. */
export class InstallBench {
  readonly server = new ReleaseServer();
  base = "";
  #downloader: Downloader | undefined;

  constructor() {
    beforeEach(async () => {
      this.base = await mkdtemp(join(tmpdir(), "llmgw-install-"));
      const retry = { tries: 2, firstDelay: millis(1), maxDelay: millis(1) };
      this.#downloader = createDownloader({ env: {}, clock: systemClock, retry });
      this.server.reset();
      await this.server.start();
    });
    afterEach(async () => {
      await this.#downloader?.close();
      await this.server.stop();
      await rm(this.base, { recursive: true });
    });
  }

  get enginesDir(): string {
    return join(this.base, "engines");
  }

  /** PATH is empty unless said: neither the machine's apt nor a llama-server of its own plays a part. */
  provider(change: Partial<EngineProviderOptions> = {}): EngineProvider {
    if (this.#downloader === undefined) throw new Error("only within a test");
    return createEngineProvider({
      ...bareNode,
      enginesDir: this.enginesDir,
      optDir: join(this.base, "opt"),
      env: {},
      downloader: this.#downloader,
      githubApi: this.server.api,
      ...change,
    });
  }

  async ensure(
    source: EngineSource | undefined,
    change: Partial<EngineProviderOptions> = {},
  ): Promise<EngineBuild | InstallFailure> {
    const outcome = await this.provider(change).ensure("llama.cpp", source, request());
    return outcome.ok ? outcome.value : outcome.error;
  }

  async publish(tag: string, engine: Partial<FakeEngine> = {}): Promise<void> {
    this.server.releases = [{ tag, assets: { [CPU(tag)]: await engineArchive({ version: tag, ...engine }) } }];
  }

  /** Everything in the engine's folder but whole builds: after an installation nothing may be there. */
  async leftovers(): Promise<readonly string[]> {
    const names = await readdir(join(this.enginesDir, "llama.cpp"), { recursive: true }).catch(() => []);
    return names.filter((name) => !/^b\d+-/.test(name) && name !== "downloads");
  }

  /** An executable shell script below the bench's folder. */
  async program(folder: string, script: string, name = "llama-server"): Promise<string> {
    await mkdir(join(this.base, folder), { recursive: true });
    const path = join(this.base, folder, name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  }
}

export const pathOf = (outcome: EngineBuild | InstallFailure): string => ("path" in outcome ? outcome.path : "");
