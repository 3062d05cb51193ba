import fc from "fast-check";
import { expect, test } from "vitest";
import { gathered, heardAt } from "../../test/fakes/gathered.ts";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { profile } from "../../test/fakes/values.ts";
import { type Millis, millis, nodeId, replicaId, type ReplicaId } from "../core/ids.ts";
import type { ObservedReplica, ObservedReplicaState } from "../core/observed.ts";
import { type Replica, REPLICA_TRAITS } from "../core/replica-state.ts";
import type { Snapshot } from "../store/store.ts";
import { decide } from "./decide.ts";
import { goneSince, modelRoutes, nextTable } from "./routes.ts";
import type { Demands } from "./scaling.ts";

const IDLE = 30_000;
const TURN = 1_000;
const n1 = nodeId("n1");

interface Range {
  readonly min: number;
  readonly max: number;
  readonly targetInFlight: number;
}

/** One node, one router and the real decisions. Requests wait where nothing serves, and are spread where something does. */
class World {
  now = millis(1_000_000);
  snapshot: Snapshot;
  readonly #rangeOf: Range;
  #demands: Demands = new Map();
  #engines = new Map<ReplicaId, ObservedReplica>();
  #inFlight = new Map<ReplicaId, number>();
  #waiting = 0;
  #table = { revision: 1, models: [] } as Parameters<typeof nextTable>[0];
  #goneSince: ReadonlyMap<ReplicaId, number> = new Map();
  #made = 0;
  starts = 0;

  constructor(range: Range) {
    this.#rangeOf = range;
    const p = profile("p", { replicas: { kind: "range", idle: millis(IDLE), ...range } });
    this.snapshot = snapshot({ profiles: [stored(p)], specs: [storedSpec(p)], nodes: [storedNode("n1")] });
  }

  get ready(): readonly Replica[] {
    return this.snapshot.replicas.filter(({ state }) => state.kind === "ready");
  }

  get wanted(): number {
    return this.#demands.get(this.snapshot.profiles[0]?.profile.name ?? expect.fail())?.wanted ?? 0;
  }

  turn(load: number): void {
    this.now = millis(this.now + TURN);
    this.#obey();
    this.#route(load);
    this.#decide();
    this.#check();
  }

  /** An engine takes a turn for each step up, and a turn to end. */
  #obey(): void {
    const next = new Map<ReplicaId, ObservedReplica>();
    for (const { id, profile: of, specHash, state, placement } of this.snapshot.replicas) {
      const was = this.#engines.get(id);
      const wanted = placement !== undefined && REPLICA_TRAITS[state.kind].wantedOnNode;
      if (!wanted) {
        // One with requests in flight would have been cut.
        expect(this.#inFlight.get(id) ?? 0).toBe(0);
        continue;
      }
      if (was === undefined) this.starts += 1;
      next.set(id, { id, profile: of, specHash, state: stepUp(was?.state), restarts: 0, pid: 1 });
    }
    this.#engines = next;
  }

  /** Of those in flight at a replica that drains, half end in each turn. */
  #route(load: number): void {
    const ids = this.#table.models.flatMap(({ replicas }) => replicas.map(({ id }) => id));
    const left = [...this.#inFlight].filter(([id, count]) => !ids.includes(id) && count > 0);
    this.#inFlight = new Map([
      ...left.map(([id, count]) => [id, Math.floor(count / 2)] as const),
      ...ids.map((id, index) => [id, Math.floor((load + index) / ids.length)] as const),
    ]);
    this.#waiting = ids.length === 0 ? load : 0;
  }

  #decide(): void {
    const report = { router: "r", tableRevision: this.#table.revision, inFlight: this.#inFlight };
    const { name } = this.snapshot.profiles[0]?.profile ?? expect.fail();
    const found = gathered(this.now, {
      nodes: new Map([[n1, { ...this.#heard(), observed: this.#observed() }]]),
      routers: {
        reports: [{ ...report, waiting: new Map([[name, this.#waiting]]) }],
        goneSince: this.#goneSince,
        settled: true,
      },
      demands: this.#demands,
      mint: () => {
        this.#made += 1;
        return { id: replicaId(`p-${String(this.#made).padStart(4, "0")}`), apiKey: "k" };
      },
    });
    const decided = decide(this.snapshot, found);
    this.snapshot = decided.snapshot;
    this.#demands = decided.demands;
    this.#table = nextTable(this.#table, modelRoutes(this.snapshot, this.#demands), "c");
    this.#goneSince = goneSince(this.#goneSince, this.snapshot.replicas, this.#table);
  }

  #heard() {
    const [node = expect.fail()] = this.snapshot.nodes;
    return heardAt(this.now, node);
  }

  #observed() {
    return { revision: this.snapshot.nodes[0]?.desiredRevision ?? 0, replicas: [...this.#engines.values()] };
  }

  #check(): void {
    const counting = this.snapshot.replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts).length;
    expect(counting).toBeLessThanOrEqual(this.#rangeOf.max);
    expect(this.wanted).toBeGreaterThanOrEqual(this.#rangeOf.min);
    expect(this.wanted).toBeLessThanOrEqual(this.#rangeOf.max);
  }
}

function stepUp(was: ObservedReplicaState | undefined): ObservedReplicaState {
  if (was === undefined) return { kind: "preparing", progress: undefined };
  if (was.kind === "preparing") return { kind: "starting", note: "" };
  return { kind: "ready", endpoint: { host: "10.0.0.1", port: 1 }, slots: 4, context: 1, engine: "llama.cpp b1" };
}

const ranges = fc
  .record({ min: fc.nat({ max: 2 }), more: fc.nat({ max: 3 }), targetInFlight: fc.integer({ min: 1, max: 8 }) })
  .map(({ min, more, targetInFlight }): Range => ({ min, max: Math.max(1, min + more), targetInFlight }));

const clamped = ({ min, max, targetInFlight }: Range, load: number): number =>
  Math.min(max, Math.max(min, Math.ceil(load / targetInFlight)));

const turnsOf = (time: Millis | number): number => Math.ceil(time / TURN);

test("whatever the load does: within the limits, nothing is cut, and what stays is met with exactly so many that are ready", () => {
  const phases = fc.array(
    fc.record({ load: fc.nat({ max: 30 }), turns: fc.integer({ min: 1, max: turnsOf(IDLE) + 10 }) }),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(ranges, phases, fc.nat({ max: 30 }), (range, history, last) => {
      const world = new World(range);
      for (const { load, turns } of history) for (let turn = 0; turn < turns; turn++) world.turn(load);
      for (let turn = 0; turn < 3 * turnsOf(IDLE); turn++) world.turn(last);
      expect(world.ready).toHaveLength(clamped(range, last));
      expect(world.snapshot.replicas).toHaveLength(clamped(range, last));
    }),
    { numRuns: 60 },
  );
});

test("a load that swings faster than idle starts each engine once, and ends none", () => {
  fc.assert(
    fc.property(ranges, fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 8 }), (range, swing) => {
      const world = new World(range);
      const highest = Math.max(...swing);
      for (let turn = 0; turn < 120; turn++) world.turn(swing[turn % swing.length] ?? 0);
      expect(world.starts).toBe(clamped(range, highest));
      expect(world.ready).toHaveLength(clamped(range, highest));
    }),
    { numRuns: 60 },
  );
});
