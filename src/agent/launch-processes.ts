import { messageOf } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import { findByEnvironment, hasEnded, listProcesses, lookAtProcess, type ProcessStat } from "../platform/proc.ts";
import { signalGroup, signalProcess } from "../platform/process.ts";
import type { ProcessFinding } from "../reconcile/adopt.ts";
import type { ProcessRef } from "../reconcile/supervision.ts";

/** Every process of a launch inherits them, so that it can be found whatever became of the record. */
export const LAUNCH_MARK = "LLMGW_LAUNCH_ID";
export const REPLICA_MARK = "LLMGW_REPLICA";

/** One launch, as far as it can be told from others. */
export interface LaunchIdentity {
  readonly launchId: string;
  /** The leader of its session and process group. */
  readonly process: ProcessRef;
}

export async function lookAtLaunch(process: ProcessRef): Promise<ProcessFinding> {
  const look = await lookAtProcess(process.pid);
  if (look.kind !== "there") return look;
  if (hasEnded(look.stat)) return { kind: "zombie" };
  return { kind: "alive", process: { pid: look.stat.pid, startTicks: look.stat.startTicks } };
}

/** The process that carries the launch's mark: how an agent that ended right after a spawn finds what it spawned. */
export async function findLaunch(launchId: string): Promise<ProcessFinding> {
  try {
    const marked = await findByEnvironment(LAUNCH_MARK, launchId);
    const leader = marked.find(({ pid, session }) => pid === session);
    if (leader === undefined) return { kind: "gone" };
    return { kind: "alive", process: { pid: leader.pid, startTicks: leader.startTicks } };
  } catch (error) {
    return { kind: "unknown", why: messageOf(error) };
  }
}

/**
 * The processes of the launch that still run. Its group finds those that changed their environment or name, its mark those
 * that left the group. The group counts only while its number cannot belong to somebody else.
 */
export async function livingProcesses({ launchId, process }: LaunchIdentity): Promise<readonly ProcessStat[]> {
  const all = (await listProcesses()).filter((stat) => !hasEnded(stat));
  const leader = all.find(({ pid }) => pid === process.pid);
  const isReused = leader !== undefined && leader.startTicks !== process.startTicks;
  const grouped = isReused ? [] : all.filter((stat) => stat.group === process.pid || stat.session === process.pid);
  const known = new Set(grouped.map(({ pid }) => pid));
  const marked = await findByEnvironment(LAUNCH_MARK, launchId);
  return [...grouped, ...marked.filter(({ pid }) => !known.has(pid))];
}

/** To everything that still runs of the launch; to nothing else. */
export async function signalLaunch(launch: LaunchIdentity, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const living = await livingProcesses(launch);
  const { pid } = launch.process;
  if (living.some(({ group }) => group === pid)) signalGroup(pid, signal);
  // Those in groups of their own get no SIGTERM: ending them is first of all their engine's business.
  if (signal === "SIGTERM") return;
  for (const stray of living.filter(({ group }) => group !== pid)) signalProcess(stray.pid, signal);
}

/** How long a killed process may take to be gone. One that waits for a device can take for ever. */
const GONE_WITHIN = millis(10_000);
const LOOK_EVERY = millis(100);

/**
 * Kills whatever carries the mark and waits until it is gone. For processes without a record that could be believed: they
 * cannot be taken over, and a second copy beside them must not be. False: something is still there.
 */
export async function endMarked(
  mark: { readonly name: string; readonly value: string },
  clock: Clock,
): Promise<boolean> {
  const deadline = clock.monotonic() + GONE_WITHIN;
  // A process that is ending loses its environment before its ports and memory, and with it its mark.
  let found: readonly ProcessStat[] = [];
  for (;;) {
    const marked = await findByEnvironment(mark.name, mark.value);
    found = [...(await stillThere(found)), ...marked.filter(({ pid }) => !found.some((known) => known.pid === pid))];
    if (found.length === 0) return true;
    if (clock.monotonic() > deadline) return false;
    for (const { pid } of found) signalProcess(pid, "SIGKILL");
    await pause(clock, LOOK_EVERY);
  }
}

async function stillThere(found: readonly ProcessStat[]): Promise<readonly ProcessStat[]> {
  const looks = await Promise.all(found.map((stat) => lookAtLaunch(stat)));
  return found.filter((stat, index) => {
    const look = looks[index];
    if (look?.kind === "unknown") return true;
    return look?.kind === "alive" && look.process.startTicks === stat.startTicks;
  });
}
