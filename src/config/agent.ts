import type { z } from "zod";
import { ok, type Result } from "../core/result.ts";
import { agentRules } from "./agent-rules.ts";
import { agentSchema } from "./agent-schema.ts";
import { inForce } from "./in-force.ts";
import type { ConfigProblem, DeepReadonly } from "./problem.ts";
import { type ConfigSource, readConfig } from "./reader.ts";

type Written = DeepReadonly<z.output<typeof agentSchema>>;

/**
 * What is in force on a node. Keys are spelled as in the file, durations are milliseconds, sizes bytes. Paths whose
 * default depends on the data folder are undefined unless written.
 */
export type AgentConfig = Omit<Written, "server"> & {
  /** Never empty. In one spelling: lower case, no final dot or slash. */
  readonly server: readonly string[];
};

/** Reads agent.yaml; every problem of the file comes back at once, in the order of the file. */
export function parseAgentConfig(source: ConfigSource): Result<AgentConfig, readonly ConfigProblem[]> {
  const read = readConfig({ schema: agentSchema, rules: agentRules }, source);
  if (!read.ok) return read;
  const { server } = read.value;
  return ok({ ...read.value, server: typeof server === "string" ? [server] : server });
}

/** The configuration as agent.yaml would spell it, defaults filled in and secrets hidden. */
export const renderAgentConfig = (config: AgentConfig): string => inForce(agentSchema, config);
