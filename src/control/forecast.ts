import type { NewEvent } from "../core/event.ts";
import { type NodeId, type ProfileName, replicaId, type ReplicaId } from "../core/ids.ts";
import { firstNo, nodesOf, type Replica, type ReplicaKind, shareOn } from "../core/replica-state.ts";
import { givenBack } from "../scheduler/give-back.ts";
import type { Snapshot, StoredNode } from "../store/store.ts";
import { decide, type Gathered } from "./decide.ts";
import { replicasOn } from "./drain-node.ts";
import type { Demands } from "./scaling.ts";

/** What would follow from a snapshot if every engine started and ended as it should. */
export interface Forecast {
  /** Replicas that would be made, with the place that the scheduler gives them or with every node's no. */
  readonly made: readonly Replica[];
  /** Replicas that would end. */
  readonly ended: readonly Replica[];
  /** The fewest that are ready of each profile on the way. */
  readonly leastReady: ReadonlyMap<ProfileName, number>;
  /** Told on the way. */
  readonly events: readonly NewEvent[];
  /** How many replicas the profiles are to have that follow their load. */
  readonly demands: Demands;
}

/** Steps that are tried. More would follow only for a profile of hundreds of replicas, changed one after another. */
const MOST_TURNS = 500;

/** The deciding and placing that would really be done, turn after turn, on copies. Nothing is kept. */
export function forecast(start: Snapshot, gathered: Gathered): Forecast {
  const made = new Map<ReplicaId, Replica>();
  const ended = new Map<ReplicaId, Replica>();
  const events: NewEvent[] = [];
  const known = new Set(start.replicas.map(({ id }) => id));
  let leastReady = readyCounts(start.replicas);
  let { demands } = gathered;
  let snapshot = start;
  const mint = counting();
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const decided = decide(snapshot, { ...silenced(snapshot, gathered), mint, demands });
    ({ demands } = decided);
    events.push(...decided.events);
    for (const replica of decided.snapshot.replicas) {
      if (!known.has(replica.id) && made.get(replica.id)?.placement === undefined) {
        made.set(replica.id, replica);
      }
      if (ENDING.includes(replica.state.kind)) ended.set(replica.id, replica);
    }
    leastReady = fewest(leastReady, readyCounts(decided.snapshot.replicas));
    const next = obeyed(decided.snapshot);
    if (next === snapshot) break;
    snapshot = next;
  }
  for (const { id } of ended.values()) made.delete(id);
  const left = new Set(snapshot.replicas.map(({ id }) => id));
  const lasting = [...made.values()].filter(({ id }) => left.has(id));
  return { made: lasting, ended: [...ended.values()].filter(({ id }) => known.has(id)), leastReady, events, demands };
}

const ENDING: readonly ReplicaKind[] = ["draining", "stopping"];
const BEGINNING: readonly ReplicaKind[] = ["placed", "preparing", "starting"];

/** What nodes report now, of engines and of free memory, says nothing about what they would report then. */
function silenced(snapshot: Snapshot, gathered: Gathered): Gathered {
  const heard = snapshot.nodes.flatMap(({ id, inventory }) => {
    const said = gathered.nodes.get(id);
    return said === undefined ? [] : [{ ...said, inventory, observed: undefined }];
  });
  return { ...gathered, nodes: new Map(heard.map((said) => [said.id, said])) };
}

function counting(): Gathered["mint"] {
  let made = 0;
  return (profile) => {
    made += 1;
    return { id: replicaId(`${profile}-new-${String(made).padStart(4, "0")}`), apiKey: "none" };
  };
}

/** Every node does at once what it is told: what begins is ready, what is to end is gone, and the memory follows. */
function obeyed(snapshot: Snapshot): Snapshot {
  const moving = snapshot.replicas.filter(({ state }) => [...ENDING, ...BEGINNING].includes(state.kind));
  if (moving.length === 0) return snapshot;
  const isMoving = new Set(moving);
  const replicas = snapshot.replicas.flatMap((replica) => {
    if (!isMoving.has(replica)) return [replica];
    return ENDING.includes(replica.state.kind) ? [] : [{ ...replica, state: READY }];
  });
  return { ...snapshot, replicas, nodes: snapshot.nodes.map((node) => measuredAfter(node, moving)) };
}

const READY = { kind: "ready", endpoint: { host: "", port: 0 }, slots: 1, engine: "" } as const;

function measuredAfter(node: StoredNode, moving: readonly Replica[]): StoredNode {
  return moving.reduce((measured, { placement, state }) => {
    const share = shareOn(placement, node.id);
    return share === undefined ? measured : givenBack(measured, share, ENDING.includes(state.kind) ? 1 : -1);
  }, node);
}

function readyCounts(replicas: readonly Replica[]): ReadonlyMap<ProfileName, number> {
  const byProfile = Map.groupBy(replicas, ({ profile }) => profile);
  return new Map([...byProfile].map(([name, all]) => [name, all.filter(({ state }) => state.kind === "ready").length]));
}

const fewest = (
  before: ReadonlyMap<ProfileName, number>,
  now: ReadonlyMap<ProfileName, number>,
): ReadonlyMap<ProfileName, number> =>
  new Map([...before].map(([name, count]) => [name, Math.min(count, now.get(name) ?? 0)]));

/** For whoever drains a node: where its replicas go, and which find no room. */
export function drainForecast(snapshot: Snapshot, gathered: Gathered, node: NodeId | string): readonly string[] {
  const leaving = replicasOn(snapshot.replicas, node);
  if (leaving.length === 0) return [`nothing of llmgw runs on ${node}`];
  const { made, ended } = forecast(snapshot, gathered);
  const gone = new Set(ended.map(({ id }) => id));
  const profiles = new Set(leaving.map(({ profile }) => profile));
  const places = made
    .filter(({ profile, placement }) => profiles.has(profile) && placement !== undefined)
    .map(({ profile, placement }) => `a replica of ${profile} is made on ${nodesOf(placement)} first`);
  const deadline = snapshot.nodes.find(({ id }) => id === node)?.drain?.deadline;
  const until = deadline === undefined ? "" : ` at ${new Date(deadline).toISOString()}`;
  const stuck = leaving.filter(({ id }) => !gone.has(id));
  return [...places, ...stuck.map(({ id, profile }) => stuckSentence(id, { made, profile, until }))];
}

interface Stuck {
  readonly made: readonly Replica[];
  readonly profile: ProfileName;
  readonly until: string;
}

function stuckSentence(id: ReplicaId, { made, profile, until }: Stuck): string {
  const waiting = made.find((replica) => replica.profile === profile && replica.state.kind === "pending");
  const because = waiting === undefined ? "" : firstNo(waiting.state);
  return `there is no room elsewhere for ${id}${because}: without any it is drained anyway${until}`;
}
