import type { GangMember, PeerFinding } from "../core/gang.ts";
import { millis, type ReplicaId } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import { speak, understand } from "./gang-words.ts";
import type { Machine } from "./machine.ts";

export interface CheckOrder {
  readonly replica: ReplicaId;
  readonly attempt: number;
  readonly rank: number;
  readonly members: readonly GangMember[];
  readonly clock: Clock;
  readonly machine: Pick<Machine, "callMeeting">;
  readonly signal: AbortSignal;
}

/** Long enough for two lost packets on a slow way, short enough for a person who waits. */
const CALL_TIMEOUT = millis(10_000);

/** Calls every other rank where it says that it is met. */
export async function checkPeers(order: CheckOrder): Promise<readonly PeerFinding[]> {
  const peers = order.members.map((member, peer) => ({ member, peer })).filter(({ peer }) => peer !== order.rank);
  return await Promise.all(peers.map(({ member, peer }) => checkPeer(order, member, peer)));
}

async function checkPeer(
  { replica, attempt, rank, clock, machine, signal }: CheckOrder,
  { address, port }: GangMember,
  peer: number,
): Promise<PeerFinding> {
  const where = `${address} port ${String(port)}`;
  const asked = clock.now();
  const line = speak({ replica, attempt, rank, now: asked });
  const answer = await machine.callMeeting({ host: address, port, line, timeout: CALL_TIMEOUT, signal });
  const heard = clock.now();
  if (!answer.ok) return { peer, problem: `${where}: ${answer.error}`, clockAhead: 0 };
  const words = understand(answer.value);
  if (words?.replica !== replica || words.attempt !== attempt || words.rank !== peer) {
    return { peer, problem: `${where} is answered by something else`, clockAhead: 0 };
  }
  // The answer was given about half-way between question and hearing.
  return { peer, problem: "", clockAhead: Math.round(words.now - (asked + heard) / 2) };
}
