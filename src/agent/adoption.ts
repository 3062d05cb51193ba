import { readBootId } from "../platform/proc.ts";
import { type AdoptionDecision, decideAdoption, type LaunchRecord, type Wanted } from "../reconcile/adopt.ts";
import { endMarked, findLaunch, LAUNCH_MARK, lookAtLaunch } from "./launch-processes.ts";
import type { NodeContext } from "./node-context.ts";

/** Asks the machine about a launch that was found written down, and decides what is to become of it. */
export async function judgeRecord(record: LaunchRecord, wanted: Wanted): Promise<AdoptionDecision> {
  const process = record.process === undefined ? await findLaunch(record.launchId) : await lookAtLaunch(record.process);
  return decideAdoption({ record, bootId: await readBootId(), process, wanted });
}

/** Ends what an engine that is gone left behind: it can be used by nobody, and holds what the next start needs. */
export async function endLeftovers({ launchId, replica }: LaunchRecord, node: NodeContext): Promise<void> {
  const isGone = await endMarked({ name: LAUNCH_MARK, value: launchId }, node.clock);
  if (!isGone)
    node.logger.error(`replica ${replica.id}: a process of an ended launch is still there although it was killed`);
}
