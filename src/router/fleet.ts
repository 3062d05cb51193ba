import type { Millis, ReplicaId } from "../core/ids.ts";
import type { ModelRoute, ReplicaRoute, RouteTable } from "../core/route.ts";
import type { Clock } from "../platform/clock.ts";
import { afterEvent, beforeRequest, GOOD, type Health, type HealthEvent } from "../routing/health.ts";
import type { Candidate } from "../routing/policy.ts";
import { EnginePool } from "./engine/pool.ts";

/** One engine as this router knows it: its counters are of this router's own requests. */
export class Replica implements Candidate {
  readonly id: ReplicaId;
  readonly route: ReplicaRoute;
  readonly pool: EnginePool;
  inFlight = 0;
  lastPicked = 0;
  health: Health = GOOD;

  constructor(route: ReplicaRoute, clock: Clock) {
    this.id = route.id;
    this.route = route;
    this.pool = new EnginePool(route, () => clock.monotonic());
  }

  saw(event: HealthEvent, now: Millis): void {
    this.health = afterEvent(this.health, event, now);
  }
}

/** A name that clients ask for. The object stays the same while its route changes, so that counts stay right. */
export class Model {
  readonly name: string;
  route: ModelRoute;
  replicas: readonly Replica[] = [];
  inFlight = 0;

  constructor(route: ModelRoute) {
    this.name = route.name;
    this.route = route;
  }

  /** In flight beyond what the engines work on at once: these wait in an engine's own queue. */
  get queued(): number {
    return this.replicas.reduce(
      (sum, { inFlight, route }) => sum + (route.slots > 0 ? Math.max(0, inFlight - route.slots) : 0),
      0,
    );
  }
}

/** All models and replicas of the table in force, and the replicas of older ones that still have requests in flight. */
export class Fleet {
  readonly #clock: Clock;
  #models = new Map<string, Model>();
  #replicas = new Map<string, Replica>();
  #picks = 0;
  /** Undefined before the first table. */
  revision: number | undefined;
  /** Counts up with each request that begins or ends at a replica. */
  changes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  model(name: string): Model | undefined {
    return this.#models.get(name);
  }

  models(): IterableIterator<Model> {
    return this.#models.values();
  }

  /** Takes a whole table. Replicas that are in both keep their connections and counters. */
  update(table: RouteTable): void {
    const kept = new Map<string, Replica>();
    for (const [key, replica] of this.#replicas) if (replica.inFlight > 0) kept.set(key, replica);
    const known = this.#replicas;
    const listed = new Set<Replica>();
    const models = new Map<string, Model>();
    for (const route of table.models) {
      const model = this.#models.get(route.name) ?? new Model(route);
      model.route = route;
      model.replicas = route.replicas.map((replicaRoute) => {
        const key = keyOf(replicaRoute);
        const replica = kept.get(key) ?? known.get(key) ?? new Replica(replicaRoute, this.#clock);
        replica.pool.open();
        kept.set(key, replica);
        listed.add(replica);
        return replica;
      });
      models.set(route.name, model);
    }
    for (const replica of known.values()) if (!listed.has(replica)) retire(replica);
    this.#models = models;
    this.#replicas = kept;
    this.revision = table.revision;
    this.changes += 1;
  }

  /** A request goes to the replica; each `begin` is met by exactly one `end`. */
  begin(replica: Replica, now: Millis): void {
    this.#picks += 1;
    this.changes += 1;
    replica.inFlight += 1;
    replica.lastPicked = this.#picks;
    replica.health = beforeRequest(replica.health, now);
  }

  end(replica: Replica): void {
    this.changes += 1;
    replica.inFlight -= 1;
  }

  /** Requests in flight by replica id; those without any are left out. */
  inFlight(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const replica of this.#replicas.values()) {
      if (replica.inFlight > 0) counts[replica.id] = (counts[replica.id] ?? 0) + replica.inFlight;
    }
    return counts;
  }

  /** Closes connections that have been idle for too long. */
  prune(now: Millis): void {
    for (const replica of this.#replicas.values()) replica.pool.prune(now);
  }

  close(): void {
    for (const replica of this.#replicas.values()) replica.pool.close();
  }
}

/** A replica that moved to another port or got another key is another one, though its id stays. */
const keyOf = ({ id, host, port, apiKey }: ReplicaRoute): string => `${id} ${host} ${String(port)} ${apiKey}`;

/** What comes back under the same key after it was away is trusted anew. */
function retire(replica: Replica): void {
  replica.pool.close();
  replica.health = GOOD;
}
