// Installs the stand-in for an engine of Python and says on its output what it is doing: install-python-once.ts FOLDER INDEX
// VERSION. A process of its own, for tests that kill it.
import { createEngineProvider } from "../../src/agent/install/provider.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader } from "../../src/platform/fetch/download.ts";
import { bareNode } from "./bare-node.ts";
import { pythonEngine } from "./python-engine.ts";

const [, , enginesDir = "", source = "", version = ""] = process.argv;
const downloader = createDownloader({ env: process.env, clock: systemClock });
const provider = createEngineProvider({
  ...bareNode,
  enginesDir,
  env: process.env,
  downloader,
  engineOf: () => pythonEngine(),
});
const { signal } = new AbortController();
const onProgress = ({ what }: { readonly what: string }): void => void process.stdout.write(`${what}\n`);
await provider.ensure("vllm", { version, source }, { onProgress, signal });
await downloader.close();
