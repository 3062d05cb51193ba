import type { z } from "zod";
import { ok, type Result } from "../core/result.ts";
import { inForce } from "./in-force.ts";
import type { ConfigProblem, DeepReadonly } from "./problem.ts";
import { type ConfigSource, readConfig } from "./reader.ts";
import { defaultAuth, type RouterAuthentication } from "./router-keys.ts";
import { serverRules } from "./server-rules.ts";
import { serverSchema } from "./server-schema.ts";

type Written = DeepReadonly<z.output<typeof serverSchema>>;

/** What is in force in a control plane. `store` is undefined unless written: its default depends on the data folder. */
export type ServerConfig = Omit<Written, "router" | "engines"> & {
  readonly router: Omit<Written["router"], "auth"> & { readonly auth: RouterAuthentication };
  /** What nodes are to install, by the engine's name. */
  readonly engines: Readonly<Record<string, { readonly version: string; readonly source: string }>>;
};

/** Reads server.yaml; every problem of the file comes back at once, in the order of the file. */
export function parseServerConfig(source: ConfigSource): Result<ServerConfig, readonly ConfigProblem[]> {
  const read = readConfig({ schema: serverSchema, rules: serverRules }, source);
  if (!read.ok) return read;
  const { router, engines, ...rest } = read.value;
  const named = Object.entries(engines).flatMap(([name, engine]) =>
    engine === undefined ? [] : [[name, engine] as const],
  );
  return ok({
    ...rest,
    router: { ...router, auth: router.auth ?? defaultAuth(router.listen) },
    engines: Object.fromEntries(named),
  });
}

/** The configuration as server.yaml would spell it, defaults filled in and secrets hidden. */
export const renderServerConfig = (config: ServerConfig): string => inForce(serverSchema, config);
