import { type AgentConfig, parseAgentConfig, renderAgentConfig } from "../config/agent.ts";
import { nodeId } from "../core/ids.ts";
import { readHostFacts } from "../platform/host.ts";
import type { AgentPaths } from "../run/paths.ts";
import { agentPaths } from "./agent-paths.ts";
import type { CommandSpec } from "./command.ts";
import { installService } from "./install-service.ts";
import { join } from "./join/command.ts";
import { CHECK, CONFIG, DATA_DIR } from "./options.ts";
import { runRole } from "./role.ts";
import { stopEngines } from "./stop-engines.ts";

export const agent: CommandSpec = {
  name: "agent",
  summary: "run a node's agent",
  details:
    "Engines go on serving when it ends, and are taken over when it starts again. docs/reference/config.md lists every key of the file.",
  options: [
    { ...CONFIG, required: false, doc: "the configuration, YAML; every command but join needs it" },
    CHECK,
    DATA_DIR,
  ],
  examples: [
    {
      line: "llmgw agent -c agent.yaml",
      doc: "run it; for a plain node the file is one line with the server's address",
    },
    {
      line: "llmgw agent -c agent.yaml --check",
      doc: "what would be in force? exit code 2 and every problem if the file is wrong",
    },
  ],
  commands: [join, installService, stopEngines],
  run: async (call) => {
    const { hostname: name } = await readHostFacts();
    return runRole(call, {
      kind: { parse: parseAgentConfig, render: renderAgentConfig },
      placed: (config) => withPlaces(config, agentPaths(call, config), name),
      start: async (config, logger) => {
        // Loaded late: the commands that only talk to a control plane start faster without it.
        const { startAgent } = await import("../run/agent.ts");
        const role = await startAgent({
          config,
          paths: agentPaths(call, config),
          nodeId: nodeId(config.node_id ?? name),
          logger,
          env: call.io.env,
        });
        return {
          stop: () => role.stop("keep-engines"),
          done: role.done,
          reload: () => {
            role.reload();
          },
          take: ({ labels }, inForce) => {
            role.relabel(labels);
            return { ...inForce, labels };
          },
        };
      },
    });
  },
};

const withPlaces = (config: AgentConfig, paths: AgentPaths, name: string): AgentConfig => ({
  ...config,
  node_id: config.node_id ?? name,
  engines_dir: paths.enginesDir,
  supervisor: { ...config.supervisor, work_dir: paths.workDir },
});
