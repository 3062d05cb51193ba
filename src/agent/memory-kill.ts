import type { ExitReport } from "../engines/engine.ts";
import type { AttemptEnd } from "../reconcile/supervision.ts";
import type { Machine } from "./machine.ts";

/** How often the kernel has killed for want of memory: among an engine's own processes, and on the whole machine. */
export interface MemoryKills {
  /** Undefined where the engine has no control group that counts them. */
  readonly own: number | undefined;
  readonly machine: number | undefined;
}

export async function memoryKillsSoFar(cgroups: readonly string[], machine: Machine): Promise<MemoryKills> {
  const [own, all] = await Promise.all([machine.memoryKills(cgroups), machine.systemMemoryKills()]);
  return { own, machine: all };
}

/** Undefined unless the kernel says that it ended a process of the engine; without its own count, that it ended some process. */
export function explainEnd(
  exit: ExitReport,
  { before, after }: { readonly before: MemoryKills; readonly after: MemoryKills },
): AttemptEnd | undefined {
  if (exit.code === 0) return undefined;
  if (after.own !== undefined) {
    if (after.own <= (before.own ?? 0)) return undefined;
    return {
      reason: "out of memory: the kernel ended one of its processes, since its memory had run out",
      retry: true,
    };
  }
  if (exit.signal !== "SIGKILL" || (after.machine ?? 0) <= (before.machine ?? 0)) return undefined;
  return {
    reason: "out of memory, most likely: it was killed while the kernel was ending processes for want of memory",
    retry: true,
  };
}
