import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { createWeightStore, type EnsureRequest, type WeightStore } from "../../src/agent/weights/store.ts";
import { millis } from "../../src/core/ids.ts";
import type { ModelSpec } from "../../src/core/profile.ts";
import { chooseFiles } from "../../src/engines/llamacpp/files.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader } from "../../src/platform/fetch/download.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { type HubRepo, type HubServer, startHub } from "./hub-server.ts";
import { type IndexServer, startIndex } from "./index-server.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface Weights {
  /** Where fetched weights land. */
  dir(): string;
  /** An operator's folder, one of model_dirs. */
  models(): string;
  /** Whatever else a test needs on disk. */
  place(path: string, data: Buffer | string): Promise<string>;
  hub(repos: Record<string, HubRepo>): Promise<HubServer>;
  index(...args: Parameters<typeof startIndex>): Promise<IndexServer>;
  /** A new one sees only what is on the disk, like an agent that was started again. */
  store(env?: Env): WeightStore;
}

export function useWeights(): Weights {
  let folder = "";
  const cleanups: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "llmgw-weights-"));
  });
  afterEach(async () => {
    await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
    await rm(folder, { recursive: true });
  });
  const kept = <T extends { close(): Promise<void> }>(made: T): T => {
    cleanups.push(() => made.close());
    return made;
  };
  return {
    dir: () => join(folder, "weights"),
    models: () => join(folder, "models"),
    async place(path, data) {
      const whole = join(folder, path);
      await mkdir(dirname(whole), { recursive: true });
      await writeFile(whole, data);
      return whole;
    },
    hub: async (repos) => kept(await startHub(repos)),
    index: async (...args) => kept(await startIndex(...args)),
    store(env = {}) {
      const retry = { tries: 2, firstDelay: millis(1), maxDelay: millis(2) };
      const downloader = kept(createDownloader({ env: {}, clock: systemClock, retry }));
      return createWeightStore({
        dir: join(folder, "weights"),
        modelDirs: [join(folder, "models")],
        downloader,
        // A home of the test's own: nothing of the user's configuration or cache is seen.
        env: { HOME: join(folder, "home"), PIP_CONFIG_FILE: "/dev/null", ...env },
        logger: silentLogger,
        clock: systemClock,
      });
    },
  };
}

export const spec = (source: string, rest: Partial<ModelSpec> = {}): ModelSpec => ({
  source,
  files: [],
  sha256: {},
  ...rest,
});

/** As llama.cpp asks. */
export const request = (rest: Partial<EnsureRequest> = {}): EnsureRequest => ({
  choose: chooseFiles,
  onProgress: () => undefined,
  signal: new AbortController().signal,
  ...rest,
});
