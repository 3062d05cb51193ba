import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { millis } from "../../src/core/ids.ts";
import { freePort } from "../../test/e2e/cluster.ts";
import { type Contender, startProgram } from "./contender.ts";
import { type Fleet, startControl } from "./control.ts";

const LAUNCHER = resolve(import.meta.dirname, "../../bin/llmgw");

/** What of the router is not as it usually is. */
export interface Setting {
  /** Over those of router.yaml. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly logLevel?: "info" | "warn";
}

/** The real program, with its keys, its usage on disk and its access log, below a control plane that stands in. */
export async function startLlmgw(
  folder: string,
  fleet: Fleet,
  { config, logLevel = "info" }: Setting,
): Promise<Contender> {
  const control = await startControl(fleet);
  const port = await freePort();
  const dataDir = join(folder, String(port));
  const file = join(dataDir, "router.yaml");
  const yaml = {
    servers: [`http://127.0.0.1:${String(control.port)}`],
    listen: `127.0.0.1:${String(port)}`,
    auth: "keys",
    metrics_listen: "",
    ...config,
  };
  await mkdir(dataDir, { recursive: true });
  await writeFile(file, JSON.stringify(yaml));
  // The log goes into a file, as under a service manager that keeps it; through a pipe this process would pay for it.
  const command = `exec "$0" router -c "$1" --data-dir "$2" --log-format json --log-level "$3" > "$2/log" 2>&1`;
  const router = await startProgram({
    argv: ["sh", "-c", command, LAUNCHER, file, dataDir, logLevel],
    port,
    isReady: async () => (await fetch(`http://127.0.0.1:${String(port)}/readyz`)).ok,
  });
  return {
    ...router,
    async stop() {
      await router.stop();
      await control.close(millis(500));
    },
  };
}
