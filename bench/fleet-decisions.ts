import { changesBetween } from "../src/control/changes.ts";
import { decide, type Gathered } from "../src/control/decide.ts";
import { needsOf } from "../src/control/model-needs.ts";
import { modelRoutes, nextTable } from "../src/control/routes.ts";
import { askOf } from "../src/scheduler/ask.ts";
import { nodeViews } from "../src/scheduler/node-view.ts";
import { place } from "../src/scheduler/place.ts";
import { DEFAULT_POLICY } from "../src/scheduler/policies.ts";
import type { Profile } from "../src/core/profile.ts";
import type { Snapshot } from "../src/store/store.ts";
import { median } from "../test/quantile.ts";
import { fleetOf, profileOf } from "./fleet-cluster.ts";

const ROUNDS = 31;
/** Until the engine of this program has made what is done often fast. */
const WARM_UP = 10;

/** Processor time, so that waiting for a core is not counted; the median of many. */
function costOf(act: () => void): number {
  const costs = Array.from({ length: WARM_UP + ROUNDS }, () => {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return median(costs.slice(WARM_UP));
}

/** The decisions of a control plane with so many nodes, in milliseconds. */
export function decisionsAt(nodes: number) {
  const fleet = settled(nodes);
  const alone = profileOf(0, 1, 2);
  return {
    placementMs: costOf(() => {
      placeOne(fleet.snapshot, alone, fleet.gathered);
    }),
    gangPlacementMs: costOf(() => {
      placeOne(fleet.snapshot, spanning(alone), fleet.gathered);
    }),
    reconcileMs: costOf(() => {
      takeTurn(fleet.snapshot, fleet.gathered);
    }),
  };
}

/** The server's first turn is behind it, and every node has heard what it is to do. */
function settled(nodes: number): ReturnType<typeof fleetOf> {
  const { snapshot: before, gathered } = fleetOf(nodes);
  const { snapshot } = decide(before, { ...gathered, isFirst: true });
  const revisions = new Map(snapshot.nodes.map(({ id, desiredRevision }) => [id, desiredRevision]));
  const heard = [...gathered.nodes].map(([id, said]) => {
    const { observed } = said;
    const revision = revisions.get(id) ?? 0;
    return [id, observed === undefined ? said : { ...said, observed: { ...observed, revision } }] as const;
  });
  return { snapshot, gathered: { ...gathered, nodes: new Map(heard) } };
}

/** As a turn does for a profile that it has not placed before. */
function placeOne(snapshot: Snapshot, of: Profile, { policy }: Gathered): void {
  const offer = { ...policy, installable: ["llama.cpp", "vllm"] };
  const ask = askOf(of, needsOf(snapshot)(of), offer);
  const decision = place(ask, nodeViews(snapshot.nodes, snapshot.replicas), DEFAULT_POLICY);
  if (decision.kind !== "placed") throw new Error("a fleet with free GPUs has no place for a replica");
}

const spanning = (of: Profile): Profile => ({ ...of, engine: "vllm", resources: { ...of.resources, nodes: 2 } });

/** Everything that a turn does but to publish: nothing may come of it. */
function takeTurn(before: Snapshot, gathered: Gathered): void {
  const { snapshot, events } = decide(before, gathered);
  const { putNodes, putReplicas } = changesBetween(before, snapshot, events);
  if (putNodes.length + putReplicas.length + events.length > 0) throw new Error("something came of nothing");
  const table = { revision: 1, cluster: snapshot.serverId, models: modelRoutes(before, gathered.demands) };
  if (nextTable(table, modelRoutes(snapshot, gathered.demands), snapshot.serverId) !== table) {
    throw new Error("the routes changed");
  }
}
