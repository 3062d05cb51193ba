import { parseServerConfig, renderServerConfig } from "../config/server.ts";
import { withLiveSettings } from "../config/server-live.ts";
import { pathsFor } from "../run/paths.ts";
import type { CommandSpec } from "./command.ts";
import { CHECK, CONFIG, DATA_DIR } from "./options.ts";
import { placeOf } from "./place.ts";
import { runRole } from "./role.ts";
import { storeOf } from "./store-place.ts";

export const server: CommandSpec = {
  name: "server",
  summary: "run the control plane",
  details: "It carries a router unless router.listen is empty. docs/reference/config.md lists every key of the file.",
  options: [CONFIG, CHECK, DATA_DIR],
  examples: [
    { line: "llmgw server -c server.yaml", doc: "run it" },
    {
      line: "llmgw server -c server.yaml --check",
      doc: "what would be in force? exit code 2 and every problem if the file is wrong",
    },
  ],
  run: (call) => {
    const place = placeOf(call);
    const dataDir = pathsFor(place).serverDir;
    return runRole(call, {
      kind: { parse: parseServerConfig, render: renderServerConfig },
      placed: (config) => ({ ...config, store: storeOf(place, config.store) }),
      start: async (config, logger) => {
        // Loaded late: the commands that only talk to a control plane start faster without it.
        const { startServer } = await import("../run/server.ts");
        const running = await startServer({ config, dataDir, logger });
        return {
          ...running,
          take: (next, inForce) => {
            running.take(next);
            return withLiveSettings(inForce, next);
          },
        };
      },
    });
  },
};
