import type { Progress } from "../../core/replica-state.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Downloader } from "../../platform/fetch/download.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Probe } from "./probe.ts";

/** What is the same for every installation of one engine. */
export interface InstallContext {
  readonly engine: Engine;
  /** Below the engines' folder, this engine's own. */
  readonly folder: string;
  readonly downloader: Downloader;
  readonly probe: Probe;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Notes why something that was tried or wished for is not to be had: for the log, once, and for the node. */
  readonly refuse: (reason: string) => void;
  /** The agent's: proxies, GITHUB_TOKEN and PATH are read from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  readonly githubApi: string;
  /** The uv that the configuration names, for engines that are packages of Python. */
  readonly uv: { readonly configured: string | undefined };
  /** The version of the NVIDIA driver; undefined: none is loaded. "" when it is not known. */
  readonly gpuDriver: () => Promise<string | undefined>;
}

export interface InstallRequest {
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}
