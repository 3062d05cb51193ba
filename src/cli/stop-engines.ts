import { parseAgentConfig, renderAgentConfig } from "../config/agent.ts";
import { nodeId } from "../core/ids.ts";
import { readHostFacts } from "../platform/host.ts";
import { createLogger } from "../platform/logger.ts";
import { agentPaths } from "./agent-paths.ts";
import type { Call, CommandSpec } from "./command.ts";
import { logSettings } from "./log-settings.ts";
import { requireConfig } from "./role-config.ts";

export const stopEngines: CommandSpec = {
  name: "stop-engines",
  summary: "end every engine that an agent left running",
  details:
    "For a node that is taken out of service, after its agent was stopped. While an agent runs on the same folder this is refused.",
  examples: [{ line: "llmgw agent stop-engines -c /etc/llmgw/agent.yaml", doc: "nothing of it runs afterwards" }],
  run,
};

async function run(call: Call): Promise<number> {
  const { hostname: name } = await readHostFacts();
  const config = await requireConfig(call, { parse: parseAgentConfig, render: renderAgentConfig });
  const { level, format } = logSettings(call, "info");
  const logger = await createLogger(level, format);
  // Loaded late: the commands that only talk to a control plane start faster without it.
  const { startAgent } = await import("../run/agent.ts");
  const paths = agentPaths(call, config);
  const role = await startAgent({ config, paths, nodeId: nodeId(config.node_id ?? name), logger, env: call.io.env });
  await role.stop("stop-engines");
  return 0;
}
