import { isErrno } from "./files.ts";
import { hasEnded, lookAtProcess } from "./proc.ts";

/** A process of this boot and this pid namespace; a pid alone is reused. */
export interface Started {
  readonly pid: number;
  /** Clock ticks between boot and its start; 0 when the machine did not say. */
  readonly startTicks: number;
}

/** This process, as another one would recognise it. */
export async function thisStarted(): Promise<Started> {
  const look = await lookAtProcess(process.pid);
  return { pid: process.pid, startTicks: look.kind === "there" ? look.stat.startTicks : 0 };
}

/** Whether anything of that very process still runs. False only with proof. */
export async function stillRuns({ pid, startTicks }: Started): Promise<boolean> {
  const look = await lookAtProcess(pid);
  // Unknown is not gone: without /proc a signal that is never delivered still tells whether somebody is there.
  if (look.kind === "unknown") return answersSignal(pid);
  return look.kind === "there" && !hasEnded(look.stat) && look.stat.startTicks === startTicks;
}

function answersSignal(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !isErrno(error, "ESRCH");
  }
}
