import type { Engine } from "../engines/engine.ts";
import { readBootId } from "../platform/proc.ts";
import { findCgroups, removeCgroup } from "../platform/cgroup.ts";
import { readExitStatus } from "../platform/process.ts";
import { readTail } from "../platform/text-log.ts";
import { type AdoptionDecision, decideAdoption, type LaunchRecord, type Wanted } from "../reconcile/adopt.ts";
import { hideKey } from "./hide-key.ts";
import { logPathOf, statusPathOf } from "./launch.ts";
import { endMarked, findLaunch, LAUNCH_MARK, lookAtLaunch } from "./launch-processes.ts";
import { cgroupName } from "./launch-record.ts";
import type { NodeContext } from "./node-context.ts";

export interface JudgedRecord {
  readonly decision: AdoptionDecision;
  /** With what was found out about it. */
  readonly record: LaunchRecord;
}

/** Asks the machine about a launch that was found written down, and decides what is to become of it. */
export async function judgeRecord(found: LaunchRecord, wanted: Wanted, node: NodeContext): Promise<JudgedRecord> {
  const bootId = await readBootId();
  if (found.process !== undefined) {
    const process = await lookAtLaunch(found.process);
    return { decision: decideAdoption({ record: found, bootId, process, wanted }), record: found };
  }
  const { finding, keeper } = await findLaunch(found);
  // It was put into its groups between the two writings of its record.
  const cgroups = await findCgroups(await node.cgroupHomes(), cgroupName(found.launchId));
  const record = { ...found, keeper, cgroups };
  return { decision: decideAdoption({ record, bootId, process: finding, wanted }), record };
}

/** How an engine ended that nobody was there to see the end of. */
export async function explainPast(record: LaunchRecord, folder: string, engine: Engine | undefined): Promise<string> {
  const exit = await readExitStatus(statusPathOf(folder));
  if (exit === undefined || engine === undefined) return "its exit status is not known";
  const tail = await readTail(logPathOf(folder), PAST_LINES, record.logOffset);
  const lastLines = hideKey(tail, record.replica.apiKey);
  return engine.explainExit(exit, lastLines).reason;
}

/** What an explanation looks at. */
const PAST_LINES = 200;

/** Ends what an engine that is gone left behind: it can be used by nobody, and holds what the next start needs. */
export async function endLeftovers({ launchId, replica, cgroups }: LaunchRecord, node: NodeContext): Promise<void> {
  const isGone = await endMarked({ name: LAUNCH_MARK, value: launchId, cgroups }, node.clock);
  await removeCgroup(cgroups);
  if (!isGone)
    node.logger.error(`replica ${replica.id}: a process of an ended launch is still there although it was killed`);
}
