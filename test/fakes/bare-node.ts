import type { EngineProviderOptions } from "../../src/agent/install/provider.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLogger } from "../../src/platform/logger.ts";

/** A node with nothing on it, for an ordinary user: what an installer is told beside where to install and how to fetch. */
export const bareNode = {
  configured: {},
  pathDirs: [],
  optDir: "/nonexistent",
  isRoot: false,
  clock: systemClock,
  logger: silentLogger,
  gpuDriver: () => Promise.resolve(undefined),
} as const satisfies Partial<EngineProviderOptions>;
