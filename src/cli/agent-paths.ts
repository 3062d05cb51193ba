import type { AgentConfig } from "../config/agent.ts";
import { type AgentPaths, pathsFor } from "../run/paths.ts";
import type { Call } from "./command.ts";
import { placeOf } from "./place.ts";

/** --data-dir is the promise that nothing is written elsewhere, so it wins over the file. */
export function agentPaths(call: Call, config: AgentConfig): AgentPaths {
  const place = placeOf(call);
  const { agent: usual } = pathsFor(place);
  if (place.dataDir !== undefined) return usual;
  return {
    workDir: config.supervisor.work_dir ?? usual.workDir,
    weightsDir: usual.weightsDir,
    enginesDir: config.engines_dir ?? usual.enginesDir,
  };
}
