import { messageOf } from "../core/errors.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import { hasEnded, type ProcessStat } from "../platform/proc.ts";
import type { LaunchRecord, ProcessFinding } from "../reconcile/adopt.ts";
import type { ProcessRef } from "../reconcile/supervision.ts";
import type { Machine } from "./machine.ts";

/** Every process of a launch inherits them, so that it can be found whatever became of the record. */
export const LAUNCH_MARK = "LLMGW_LAUNCH_ID";
export const REPLICA_MARK = "LLMGW_REPLICA";

/** One launch, as far as it can be told from others. */
export type LaunchIdentity = Pick<LaunchRecord, "launchId" | "keeper" | "cgroups"> & { readonly process: ProcessRef };

export async function lookAtLaunch(
  process: ProcessRef,
  machine: Pick<Machine, "lookAtProcess">,
): Promise<ProcessFinding> {
  const look = await machine.lookAtProcess(process.pid);
  if (look.kind !== "there") return look;
  if (hasEnded(look.stat)) return { kind: "zombie" };
  return { kind: "alive", process: { pid: look.stat.pid, startTicks: look.stat.startTicks } };
}

export interface FoundLaunch {
  readonly finding: ProcessFinding;
  readonly keeper: ProcessRef | undefined;
}

/**
 * The processes that carry the launch's mark: how an agent that ended right after a spawn finds what it spawned. Its keeper leads
 * a session and holds the engine's arguments. The engine is its child or, with the keeper gone, what has these arguments itself:
 * workers that outlived both are taken for neither.
 */
export async function findLaunch(
  { launchId, hashes }: Pick<LaunchRecord, "launchId" | "hashes">,
  machine: Machine,
): Promise<FoundLaunch> {
  try {
    const marked = (await machine.findByEnvironment(LAUNCH_MARK, launchId)).toSorted(
      (a, b) => a.startTicks - b.startTicks,
    );
    const alike = await withArguments(marked, hashes, machine);
    const keeper = alike.find(({ pid, session }) => pid === session);
    const engine = keeper === undefined ? alike[0] : marked.find(({ parent }) => parent === keeper.pid);
    if (engine !== undefined) return { finding: { kind: "alive", process: refOf(engine) }, keeper: refIf(keeper) };
    if (keeper === undefined) return { finding: { kind: "gone" }, keeper: undefined };
    // Between its own start and the engine's, or between the engine's end and the status.
    return { finding: { kind: "unknown", why: "its start or its end is under way" }, keeper: refOf(keeper) };
  } catch (error) {
    return { finding: { kind: "unknown", why: messageOf(error) }, keeper: undefined };
  }
}

/** Those with these arguments, in the same order; first those with the environment too, since a program may start itself again. */
async function withArguments(
  stats: readonly ProcessStat[],
  hashes: LaunchRecord["hashes"],
  machine: Machine,
): Promise<readonly ProcessStat[]> {
  const looks = await Promise.all(
    stats.map(async (stat) => ({
      stat,
      words: await machine.readArguments(stat.pid),
      hasEnv: hashesOf([], await machine.readEnvironment(stat.pid)).env === hashes.env,
    })),
  );
  // Words that an interpreter or a wrapper put before them are not counted.
  const alike = looks.filter(({ words }) => words.some((_, at) => hashesOf(words.slice(at), {}).argv === hashes.argv));
  return alike.toSorted((a, b) => Number(b.hasEnv) - Number(a.hasEnv)).map(({ stat }) => stat);
}

/** What shells add by themselves, and the marks. */
const NOT_ITS_OWN: ReadonlySet<string> = new Set(["PWD", "OLDPWD", "SHLVL", "_", LAUNCH_MARK, REPLICA_MARK]);

/** The program itself is left out: what a script or a wrapper starts has another name and the same arguments. */
export const hashesOf = (
  [, ...words]: readonly string[],
  env: Readonly<Record<string, string>>,
): LaunchRecord["hashes"] => ({
  argv: fingerprint(words),
  env: fingerprint(Object.fromEntries(Object.entries(env).filter(([name]) => !NOT_ITS_OWN.has(name)))),
});

const refOf = ({ pid, startTicks }: ProcessStat): ProcessRef => ({ pid, startTicks });
const refIf = (stat: ProcessStat | undefined): ProcessRef | undefined => (stat === undefined ? undefined : refOf(stat));

/**
 * The processes of the launch that still run, its keeper aside. Its control groups find whatever it became; without them its
 * process group finds those that changed their environment or name, and its mark those that left the group. A number counts
 * only while it cannot belong to somebody else.
 */
export async function livingProcesses(launch: LaunchIdentity, machine: Machine): Promise<readonly ProcessStat[]> {
  const all = (await machine.listProcesses()).filter((stat) => !hasEnded(stat));
  const members = await machine.cgroupMembers(launch.cgroups);
  const leader = groupOf(launch);
  const isReused = all.some(({ pid, startTicks }) => pid === leader.pid && startTicks !== leader.startTicks);
  const isOurs = ({ pid, group, session }: ProcessStat): boolean =>
    members.has(pid) || (!isReused && (group === leader.pid || session === leader.pid));
  const known = all.filter(isOurs);
  const pids = new Set(known.map(({ pid }) => pid));
  const marked = await machine.findByEnvironment(LAUNCH_MARK, launch.launchId);
  const living = [...known, ...marked.filter(({ pid }) => !pids.has(pid))];
  return living.filter(({ pid, startTicks }) => pid !== launch.keeper?.pid || startTicks !== launch.keeper.startTicks);
}

/** What leads the session and the process group of the launch. */
const groupOf = ({ keeper, process }: LaunchIdentity): ProcessRef => keeper ?? process;

/** To everything that still runs of the launch; to nothing else. Answers to which. */
export async function signalLaunch(
  launch: LaunchIdentity,
  signal: "SIGTERM" | "SIGKILL",
  machine: Machine,
): Promise<readonly ProcessStat[]> {
  const living = await livingProcesses(launch, machine);
  const { pid } = groupOf(launch);
  if (signal === "SIGKILL") await machine.killCgroup(launch.cgroups);
  if (living.some(({ group }) => group === pid)) machine.signalGroup(pid, signal);
  // Those in groups of their own get no SIGTERM: ending them is first of all their engine's business.
  const strays = signal === "SIGTERM" ? [] : living.filter(({ group }) => group !== pid);
  for (const stray of strays) machine.signalProcess(stray.pid, signal);
  return living;
}

/** How long a killed process may take to be gone. One that waits for a device can take for ever. */
const GONE_WITHIN = millis(10_000);
const LOOK_EVERY = millis(100);

/**
 * Kills whatever carries the mark or is in one of the control groups and waits until it is gone. For processes without a record that could be believed: they
 * cannot be taken over, and a second copy beside them must not be. False: something is still there.
 */
export async function endMarked(
  mark: { readonly name: string; readonly value: string; readonly cgroups?: readonly string[] },
  { clock, machine }: { readonly clock: Clock; readonly machine: Machine },
): Promise<boolean> {
  const { cgroups = [] } = mark;
  const deadline = clock.monotonic() + GONE_WITHIN;
  // A process that is ending loses its environment before its ports and memory, and with it its mark.
  let found: readonly ProcessStat[] = [];
  for (;;) {
    const members = await machine.cgroupMembers(cgroups);
    const inside = members.size === 0 ? [] : (await machine.listProcesses()).filter(({ pid }) => members.has(pid));
    const byMark = await machine.findByEnvironment(mark.name, mark.value);
    const marked = [...inside.filter((stat) => !hasEnded(stat)), ...byMark.filter(({ pid }) => !members.has(pid))];
    found = [
      ...(await stillThere(found, machine)),
      ...marked.filter(({ pid }) => !found.some((known) => known.pid === pid)),
    ];
    if (found.length === 0) return true;
    if (clock.monotonic() > deadline) return false;
    for (const { pid } of found) machine.signalProcess(pid, "SIGKILL");
    await pause(clock, LOOK_EVERY);
  }
}

async function stillThere(found: readonly ProcessStat[], machine: Machine): Promise<readonly ProcessStat[]> {
  const looks = await Promise.all(found.map((stat) => lookAtLaunch(stat, machine)));
  return found.filter((stat, index) => {
    const look = looks[index];
    if (look?.kind === "unknown") return true;
    return look?.kind === "alive" && look.process.startTicks === stat.startTicks;
  });
}
