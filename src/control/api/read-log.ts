import { Code, ConnectError } from "@connectrpc/connect";
import { type Replica, sharesOf } from "../../core/replica-state.ts";
import { toText } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";
import { quieter } from "../quiet-report.ts";

interface LogWish {
  readonly tail: number;
  readonly follow: boolean;
  /** Of a replica over several nodes. 0: the one that answers requests. */
  readonly rank: number;
  readonly signal: AbortSignal;
}

/** The engine's own output from its node, without the secrets that the engine was given. Throws in words where there is none to be had. */
export function readLog(
  { agents, loop }: Pick<ControlPlane, "agents" | "loop">,
  replica: Replica,
  { rank, signal, ...wish }: LogWish,
): AsyncIterable<readonly string[]> {
  const { id, placement, apiKey } = replica;
  const shares = sharesOf(placement);
  const share = shares[rank];
  if (shares.length === 0) {
    throw new ConnectError(`replica ${id} has no node yet, so it has no log`, Code.FailedPrecondition);
  }
  if (share === undefined) {
    const ranks =
      shares.length === 1 ? "is on one node: its only rank is 0" : `has the ranks 0 to ${String(shares.length - 1)}`;
    throw new ConnectError(`replica ${id} has no rank ${String(rank)}: it ${ranks}`, Code.NotFound);
  }
  const lines = agents.readLog(share.node, { replica: id, ...wish }, signal);
  if (lines === undefined) {
    throw new ConnectError(`node ${share.node} is not connected, and the log is there`, Code.Unavailable);
  }
  const spec = loop.snapshot.specs.find((one) => one.profile === replica.profile && one.specHash === replica.specHash);
  return without(quieter(apiKey, spec?.spec), lines);
}

/** Engines print their options and their environment. */
async function* without(
  hide: (text: string) => string,
  parts: AsyncIterable<readonly string[]>,
): AsyncGenerator<readonly string[], undefined> {
  for await (const lines of parts) yield lines.map((line) => toText(hide(line)));
  return undefined;
}
