import type { AdapterSpec } from "../core/adapter.ts";
import type { Progress } from "../core/replica-state.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Engine, LaunchAdapter } from "../engines/engine.ts";
import type { AttemptEnd } from "../reconcile/supervision.ts";
import type { WeightStore } from "./weights/store.ts";

interface Fetching {
  readonly engine: Pick<Engine, "name" | "adapters">;
  readonly weights: Pick<WeightStore, "ensure">;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes each adapter whole on this machine, as a model is: one after the other, since they are small. The first that cannot
 * be had is reason enough not to start the engine, which would not know a name that clients ask for.
 */
export async function ensureAdapters(
  adapters: readonly AdapterSpec[],
  { engine, weights, ...request }: Fetching,
): Promise<Result<readonly LaunchAdapter[], AttemptEnd>> {
  const rules = engine.adapters;
  if (rules === undefined) {
    const reason = `${engine.name} loads no adapters: leave them out, or name another engine`;
    return err({ reason, retry: false });
  }
  const had: LaunchAdapter[] = [];
  for (const { name, source } of adapters) {
    const model = { source, files: [], sha256: {} };
    const found = await weights.ensure(model, { ...request, choose: rules.chooseFiles });
    if (!found.ok) return err({ reason: `the adapter ${name}: ${found.error.message}`, retry: found.error.retry });
    const path = found.value.mainPath;
    const objection = rules.objection?.(path);
    if (objection !== undefined) return err({ reason: `the adapter ${name}: ${objection}`, retry: false });
    had.push({ name, path });
  }
  return ok(had);
}
