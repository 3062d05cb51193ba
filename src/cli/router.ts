import { parseRouterConfig, renderRouterConfig, type RouterConfig } from "../config/router.ts";
import { pathsFor } from "../run/paths.ts";
import type { Call, CommandSpec } from "./command.ts";
import { logSettings } from "./log-settings.ts";
import { CHECK, CONFIG, DATA_DIR } from "./options.ts";
import { placeOf } from "./place.ts";
import { runRole } from "./role.ts";

export const router: CommandSpec = {
  name: "router",
  summary: "run a router alone",
  details:
    "It is told by the control planes where the models are, and goes on with what it knows while they are away, over its own restarts too. docs/reference/config.md lists every key of the file.",
  options: [CONFIG, CHECK, DATA_DIR],
  examples: [
    {
      line: "llmgw router -c router.yaml",
      doc: "run it; the file needs the control plane's address and a token or certificate",
    },
    {
      line: "llmgw router -c router.yaml --check",
      doc: "what would be in force? exit code 2 and every problem if the file is wrong",
    },
  ],
  run: (call) =>
    runRole(call, {
      kind: { parse: parseRouterConfig, render: renderRouterConfig },
      placed: (config) => ({ ...config, state_dir: stateDir(call, config) }),
      start: async (config, logger) => {
        // Loaded late: the commands that only talk to a control plane start faster without it.
        const { startRouterRole } = await import("../run/router-role.ts");
        const { env } = call.io;
        const log = logSettings(call, "info");
        return startRouterRole({ config, stateDir: stateDir(call, config), logger, log, env });
      },
    }),
};

/** --data-dir is the promise that nothing is written elsewhere, so it wins over the file. */
function stateDir(call: Call, config: RouterConfig): string {
  const place = placeOf(call);
  const { routerDir } = pathsFor(place);
  return place.dataDir === undefined ? (config.state_dir ?? routerDir) : routerDir;
}
