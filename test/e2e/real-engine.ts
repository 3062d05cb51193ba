import { resolve } from "node:path";
import { createEngineProvider } from "../../src/agent/install/provider.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader } from "../../src/platform/fetch/download.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { bareNode } from "../fakes/bare-node.ts";

/** Kept between runs. */
const ENGINES = resolve(import.meta.dirname, "../.cache/engines");

/** The path of a real llama-server, had the way a node gets one: by llmgw's own installer, from Debian's archive. */
export async function realLlamaServer(): Promise<string> {
  const downloader = createDownloader({ env: process.env, clock: systemClock });
  const provider = createEngineProvider({
    ...bareNode,
    enginesDir: ENGINES,
    env: process.env,
    isRoot: process.getuid?.() === 0,
    downloader,
    logger: await createLogger("warn", "json"),
  });
  const build = await provider.ensure(
    "llama.cpp",
    { version: "b11669", source: "debian" },
    {
      onProgress: () => undefined,
      signal: AbortSignal.timeout(300_000),
    },
  );
  await downloader.close();
  if (!build.ok) throw new Error(`the end-to-end tests need a real llama-server: ${build.error.message}`);
  return build.value.path;
}
