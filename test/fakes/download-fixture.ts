import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader, type Downloader, type DownloaderOptions } from "../../src/platform/fetch/download.ts";
import { type FileServer, type Handler, startFileServer } from "./file-server.ts";

export const TWELVE = Buffer.from("abcdefghijkl");
export const TWELVE_SHA = "d682ed4ca4d989c134ec94f1551e1ec580dd6d5a6ecde9f3d35e6e4a717fbde4";
export const MIB = 1024 * 1024;

/** What the tests of downloads need, made anew for each and cleared away after it. */
export interface Downloads {
  folder(): string;
  target(): string;
  filesLeft(): Promise<readonly string[]>;
  serve(handler: Handler): Promise<FileServer>;
  /** Tries three times, a moment apart. */
  downloader(options?: Partial<DownloaderOptions>): Downloader;
}

export function useDownloads(): Downloads {
  let folder = "";
  const cleanups: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "llmgw-fetch-"));
  });
  afterEach(async () => {
    await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
    await rm(folder, { recursive: true });
  });
  return {
    folder: () => folder,
    target: () => join(folder, "model.gguf"),
    filesLeft: () => readdir(folder),
    async serve(handler) {
      const server = await startFileServer(handler);
      cleanups.push(() => server.close());
      return server;
    },
    downloader(options = {}) {
      const retry = { tries: 3, firstDelay: millis(1), maxDelay: millis(5) };
      const made = createDownloader({ env: {}, clock: systemClock, retry, ...options });
      cleanups.push(() => made.close());
      return made;
    },
  };
}

/** The beginning of an answer, and then the connection breaks. */
export function breakAfter(response: ServerResponse, content: Buffer, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, { "content-length": "12", ...headers });
  response.write(content, () => response.destroy());
}

export const sha256Of = (data: Buffer): string => createHash("sha256").update(data).digest("hex");

/** The same bytes for the same seed, different ones everywhere. */
export function seeded(size: number, seed = 1): Buffer {
  const data = Buffer.allocUnsafe(size);
  for (let i = 0; i < size; i += 1) data[i] = (i * 31 + (i >> 8) * seed) % 251;
  return data;
}
