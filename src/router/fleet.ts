import type { EngineApi } from "../core/engine-api.ts";
import type { Millis, ProfileName, ReplicaId } from "../core/ids.ts";
import type { ModelRoute, ReplicaRoute, RouteTable } from "../core/route.ts";
import type { Clock } from "../platform/clock.ts";
import { hashText } from "../routing/hash.ts";
import { afterEvent, beforeRequest, GOOD, type Health, type HealthEvent } from "../routing/health.ts";
import type { Candidate } from "../routing/policy.ts";
import { PrefixIndex } from "../routing/prefix-index.ts";
import { EnginePool, IDLE_SECONDS } from "./engine/pool.ts";
import { DEFAULT_LIMITS, type RouterLimits } from "./limits.ts";
import { addressOf, IDLE_SECONDS_ELSEWHERE } from "./upstreams/endpoint.ts";
import { WaitingRoom } from "./waiting-room.ts";
import { partOf } from "./workers/part.ts";

/** About 13 MB when it is full; a conversation of ten turns takes some fifty. */
const PREFIX_KEYS = 131_072;

/** One engine as this router knows it: its counters are of this router's own requests. */
export class Replica implements Candidate {
  readonly id: ReplicaId;
  readonly idHash: number;
  readonly route: ReplicaRoute;
  readonly pool: EnginePool;
  inFlight = 0;
  queuedTokens = 0;
  lastPicked = 0;
  health: Health = GOOD;
  /** What it turned out not to have, whatever its route says. */
  readonly lacks = new Set<EngineApi>();
  /** Who waits for it; undefined while no model lists it. */
  room: WaitingRoom | undefined;
  /** Requests that it is given at once by this process. */
  readonly most: number;

  constructor(route: ReplicaRoute, clock: Clock, { headroom, part }: Pick<RouterLimits, "headroom" | "part">) {
    this.id = route.id;
    this.idHash = hashText(route.id);
    this.route = route;
    // An endpoint elsewhere has no queue that should never be empty: what is set for it is the most.
    const isOurs = route.upstream === undefined;
    const beyond = isOurs ? headroom : 0;
    this.most = route.slots === 0 ? Infinity : partOf(route.slots + beyond, part, this.idHash);
    const idleSeconds = isOurs ? IDLE_SECONDS : IDLE_SECONDS_ELSEWHERE;
    this.pool = new EnginePool(addressOf(route), () => clock.monotonic(), idleSeconds);
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
  room: WaitingRoom;
  /** Those that wait for a slot included. */
  inFlight = 0;
  /** Those that wait for a slot. */
  queued = 0;

  constructor(route: ModelRoute, room: WaitingRoom) {
    this.name = route.name;
    this.route = route;
    this.room = room;
  }
}

/** What a request brings to a replica. */
interface PromptLoad {
  /** To be read. */
  readonly tokens: number;
  /** The names of its beginnings, which the engine will have in its cache. */
  readonly keys: readonly number[];
}

const NOTHING_TO_READ: PromptLoad = { tokens: 0, keys: [] };

/** All models and replicas of the table in force, and the replicas of older ones that still have requests in flight. */
export class Fleet {
  readonly #clock: Clock;
  readonly #limits: RouterLimits;
  /** Which replicas worked on which beginnings of prompts. */
  readonly prefixes = new PrefixIndex(PREFIX_KEYS);
  /** All names of a profile are answered by the same replicas, and wait together. */
  #rooms = new Map<ProfileName, WaitingRoom>();
  #models = new Map<string, Model>();
  #replicas = new Map<string, Replica>();
  #picks = 0;
  /** Ids of replicas that worked on a prompt with this key, the latest first. */
  readonly holders = (key: number): readonly string[] => this.prefixes.holders(key);
  /** What a request carries that a router of this cluster sent elsewhere; "": not known yet. */
  cluster = "";
  /** Undefined before the first table. */
  revision: number | undefined;
  /** Counts up with each request that begins or ends at a replica, or waits for one. */
  changes = 0;
  /** Somebody waits for a replica to be started: whoever starts them should know at once. */
  onColdWait: () => void = () => undefined;

  constructor(clock: Clock, limits: RouterLimits = DEFAULT_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  model(name: string): Model | undefined {
    return this.#models.get(name);
  }

  models(): IterableIterator<Model> {
    return this.#models.values();
  }

  /** Takes a whole table. Replicas that are in both keep their connections and counters. */
  update(table: RouteTable): void {
    const kept = this.#busy();
    const known = this.#replicas;
    const listed = new Set<Replica>();
    const models = new Map<string, Model>();
    const rooms = new Map<ProfileName, WaitingRoom>();
    for (const route of table.models) {
      const room = rooms.get(route.profile) ?? this.#room(route.profile);
      // An alias has nobody of its own to wait for: who asks for it waits for the model that answers.
      if (route.alias === undefined) rooms.set(route.profile, room);
      const model = this.#models.get(route.name) ?? new Model(route, room);
      model.route = route;
      model.room = room;
      model.replicas = route.replicas.map((replicaRoute) => {
        const key = keyOf(replicaRoute);
        const replica = kept.get(key) ?? known.get(key) ?? new Replica(replicaRoute, this.#clock, this.#limits);
        replica.pool.open();
        replica.room = room;
        kept.set(key, replica);
        listed.add(replica);
        return replica;
      });
      room.update({ replicas: model.replicas, holds: route.holds === true });
      models.set(route.name, model);
    }
    for (const replica of known.values()) if (!listed.has(replica)) retire(replica);
    this.#models = models;
    this.#replicas = kept;
    this.revision = table.revision;
    this.cluster = table.cluster ?? "";
    this.#useRooms(rooms);
    this.changes += 1;
  }

  /** Who waits for a profile that is no longer listed does so to his deadline: it may come back. */
  #useRooms(rooms: Map<ProfileName, WaitingRoom>): void {
    for (const [profile, room] of this.#rooms) if (room.size > 0 && !rooms.has(profile)) rooms.set(profile, room);
    this.#rooms = rooms;
    for (const room of rooms.values()) room.wake();
  }

  /** Replicas that still have requests in flight stay known until these have ended. */
  #busy(): Map<string, Replica> {
    return new Map([...this.#replicas].filter(([, { inFlight }]) => inFlight > 0));
  }

  #room(profile: ProfileName): WaitingRoom {
    const now = (): Millis => this.#clock.monotonic();
    const changed = (isCold: boolean): void => {
      this.changes += 1;
      if (isCold) this.onColdWait();
    };
    return this.#rooms.get(profile) ?? new WaitingRoom(this.#limits, now, changed);
  }

  /** A request goes to the replica; each `begin` is met by exactly one `end`. */
  begin(replica: Replica, now: Millis, { tokens, keys }: PromptLoad = NOTHING_TO_READ): void {
    this.#picks += 1;
    this.changes += 1;
    replica.inFlight += 1;
    replica.queuedTokens += tokens;
    replica.lastPicked = this.#picks;
    replica.health = beforeRequest(replica.health, now);
    this.prefixes.learn(keys, replica.id);
  }

  /** `tokens`: those of its prompt, unless it has been answered. */
  end(replica: Replica, tokens = 0): void {
    this.changes += 1;
    replica.inFlight -= 1;
    replica.queuedTokens -= tokens;
    replica.room?.wake();
  }

  /** Requests in flight by replica id; those without any are left out. */
  inFlight(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const replica of this.#replicas.values()) {
      if (replica.inFlight > 0) counts[replica.id] = (counts[replica.id] ?? 0) + replica.inFlight;
    }
    return counts;
  }

  /** Requests that wait for a replica, by profile; profiles without any are left out. */
  waiting(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#rooms].flatMap(([name, { size }]) => (size > 0 ? [[name, size]] : [])));
  }

  /** Gives up on requests that have waited for too long, and on connections that have been idle for too long. */
  tick(now: Millis): void {
    for (const room of this.#rooms.values()) room.onTick(now);
    for (const replica of this.#replicas.values()) replica.pool.prune(now);
  }

  close(): void {
    for (const replica of this.#replicas.values()) replica.pool.close();
  }
}

/** A replica that moved to another port or got another key or certificate is another one, though its id stays. */
function keyOf({ id, host, port, apiKey, tlsSha256 = "", slots, upstream }: ReplicaRoute): string {
  const key = [id, host, String(port), apiKey, tlsSha256].join(" ");
  return upstream === undefined ? key : `${key} ${JSON.stringify([slots, upstream])}`;
}

/** What comes back under the same key after it was away is trusted anew. */
function retire(replica: Replica): void {
  replica.pool.close();
  replica.room = undefined;
  replica.health = GOOD;
}
