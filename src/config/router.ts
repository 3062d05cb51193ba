import type { z } from "zod";
import { ok, type Result } from "../core/result.ts";
import { inForce } from "./in-force.ts";
import type { ConfigProblem, DeepReadonly } from "./problem.ts";
import { type ConfigSource, readConfig } from "./reader.ts";
import { defaultAuth, type RouterAuthentication } from "./router-keys.ts";
import { routerRules } from "./router-rules.ts";
import { routerSchema } from "./router-schema.ts";

type Written = DeepReadonly<z.output<typeof routerSchema>>;

/** What is in force in a router alone. `state_dir` is undefined unless written: its default depends on the data folder. */
export type RouterConfig = Omit<Written, "auth"> & { readonly auth: RouterAuthentication };

/** Reads router.yaml; every problem of the file comes back at once, in the order of the file. */
export function parseRouterConfig(source: ConfigSource): Result<RouterConfig, readonly ConfigProblem[]> {
  const read = readConfig({ schema: routerSchema, rules: routerRules }, source);
  if (!read.ok) return read;
  return ok({ ...read.value, auth: read.value.auth ?? defaultAuth(read.value.listen) });
}

/** The configuration as router.yaml would spell it, defaults filled in and secrets hidden. */
export const renderRouterConfig = (config: RouterConfig): string => inForce(routerSchema, config);
