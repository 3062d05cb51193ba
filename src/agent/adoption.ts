import type { Engine } from "../engines/engine.ts";
import { type AdoptionDecision, decideAdoption, type LaunchRecord, type Wanted } from "../reconcile/adopt.ts";
import { hideKey } from "./hide-key.ts";
import { logPathOf, statusPathOf } from "./launch.ts";
import { endMarked, findLaunch, LAUNCH_MARK, lookAtLaunch } from "./launch-processes.ts";
import { cgroupName } from "./launch-record.ts";
import type { Machine } from "./machine.ts";
import type { NodeContext } from "./node-context.ts";

export interface JudgedRecord {
  readonly decision: AdoptionDecision;
  /** With what was found out about it. */
  readonly record: LaunchRecord;
}

/** Asks the machine about a launch that was found written down, and decides what is to become of it. */
export async function judgeRecord(found: LaunchRecord, wanted: Wanted, node: NodeContext): Promise<JudgedRecord> {
  const { machine } = node;
  const bootId = await machine.readBootId();
  if (found.process !== undefined) {
    const process = await lookAtLaunch(found.process, machine);
    return { decision: decideAdoption({ record: found, bootId, process, wanted }), record: found };
  }
  const { finding, keeper } = await findLaunch(found, machine);
  // It was put into its groups between the two writings of its record.
  const cgroups = await machine.findCgroups(await node.cgroupHomes(), cgroupName(found.launchId));
  const record = { ...found, keeper, cgroups };
  return { decision: decideAdoption({ record, bootId, process: finding, wanted }), record };
}

interface Past {
  readonly folder: string;
  readonly engine: Engine | undefined;
  readonly machine: Machine;
}

/** How an engine ended that nobody was there to see the end of. */
export async function explainPast(record: LaunchRecord, { folder, engine, machine }: Past): Promise<string> {
  const exit = await machine.readExitStatus(statusPathOf(folder));
  if (exit === undefined || engine === undefined) return "its exit status is not known";
  const tail = await machine.readTail(logPathOf(folder), PAST_LINES, record.logOffset);
  const lastLines = hideKey(tail, record.replica.apiKey);
  return engine.explainExit(exit, lastLines).reason;
}

/** What an explanation looks at. */
const PAST_LINES = 200;

/** Ends what an engine that is gone left behind: it can be used by nobody, and holds what the next start needs. */
export async function endLeftovers({ launchId, replica, cgroups }: LaunchRecord, node: NodeContext): Promise<void> {
  const isGone = await endMarked({ name: LAUNCH_MARK, value: launchId, cgroups }, node);
  await node.machine.removeCgroup(cgroups);
  if (!isGone)
    node.logger.error(`replica ${replica.id}: a process of an ended launch is still there although it was killed`);
}
