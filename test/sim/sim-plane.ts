import { createRouterTransport, type Transport } from "@connectrpc/connect";
import { parseServerConfig } from "../../src/config/server.ts";
import { publicRoutes } from "../../src/control/api/routes.ts";
import { type ControlPlane, startControlPlane } from "../../src/control/control-plane.ts";
import { type ControlPolicy, policyOf } from "../../src/control/policy.ts";
import { replicaId } from "../../src/core/ids.ts";
import type { NewEvent } from "../../src/core/event.ts";
import { err } from "../../src/core/result.ts";
import type { Logger } from "../../src/platform/logger.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import type { Dice } from "./dice.ts";
import type { Network } from "./network.ts";
import { type Lifetime, never, type SimClock, type WallClock } from "./sim-clock.ts";

export const ADMIN_TOKEN = "the-admin-token-of-a-simulated-control-plane";

/** Everything else is as usual. */
const SERVER_YAML = "nodes: { unreachable_after: 15s, lost_after: 60s }";

function usualPolicy(): ControlPolicy {
  const config = parseServerConfig({ text: SERVER_YAML, file: "server.yaml", env: {}, readSecret: () => err("none") });
  if (!config.ok) throw new Error(JSON.stringify(config.error));
  return policyOf(config.value);
}

const USUAL_POLICY = usualPolicy();

interface PlaneParts {
  readonly clock: SimClock;
  readonly dice: Dice;
  readonly network: Network;
  readonly logger: Logger;
  /** Other than the usual one. */
  readonly brake: number | undefined;
  /** Called with what was committed, once it is. */
  readonly onEvents: (events: readonly NewEvent[]) => void;
}

interface Running {
  readonly plane: ControlPlane;
  readonly transport: Transport;
  readonly life: Lifetime;
}

/** The one store of the simulated cluster, and the control plane that runs on it when one does. */
export class SimPlane {
  readonly wall: WallClock = { offset: 0 };
  /** Called in the middle of the next commit. */
  tripwire: (() => void) | undefined;
  readonly #parts: PlaneParts;
  #store: Store | undefined;
  #running: Running | undefined;
  #starting: Lifetime | undefined;
  #minted = 0;

  constructor(parts: PlaneParts) {
    this.#parts = parts;
  }

  async open(): Promise<void> {
    this.#store = await openSqliteStore({ path: ":memory:", newServerId: "simulated" });
  }

  /** Undefined: it is down. */
  get running(): ControlPlane | undefined {
    return this.#running?.plane;
  }

  /** Nothing happens when one runs already. */
  async start(): Promise<void> {
    if (this.#starting?.isOver() === false) return;
    const { clock, network, logger, brake } = this.#parts;
    const { liveness } = USUAL_POLICY;
    const store = this.#store;
    if (store === undefined) throw new Error("the store is not open yet");
    const life = clock.lifetime(this.wall);
    this.#starting = life;
    const plane = await startControlPlane({
      ...{ store: this.#mortal(store, life), clock: life.clock, logger },
      policy: { ...USUAL_POLICY, liveness: { ...liveness, brake: brake ?? liveness.brake } },
      mint: (profile) => this.#mint(profile),
      door: undefined,
      adminToken: ADMIN_TOKEN,
      routerUrl: () => "",
      lookAtModel: ({ model: { source } }) =>
        Promise.resolve({ source, facts: undefined, weights: undefined, problem: "it cannot be asked" }),
    });
    if (life.isOver()) return;
    const transport = createRouterTransport((routes) => {
      publicRoutes(routes, plane);
    });
    this.#running = { plane, transport, life };
    network.server = transport;
  }

  /** As by a kill: nothing is said to anybody, and what was not committed is lost. */
  kill(): void {
    this.#starting?.end();
    this.#running = undefined;
    this.#parts.network.serverEnded();
  }

  async close(): Promise<void> {
    this.kill();
    await this.#store?.close();
  }

  #mint(profile: string) {
    this.#minted += 1;
    const mark = this.#parts.dice.whole(0, 0xfff).toString(16).padStart(3, "0");
    return { id: replicaId(`${profile}-${mark}${String(this.#minted)}`), apiKey: `sk-${String(this.#minted)}` };
  }

  /** The store as a control plane sees it that may be killed between any two steps. */
  #mortal(store: Store, life: Lifetime): Store {
    const alive = async <T>(work: () => Promise<T>): Promise<T> => {
      if (life.isOver()) return never();
      const value = await work();
      return life.isOver() ? never() : value;
    };
    return {
      load: () => alive(() => store.load()),
      commit: (revision, changes, now) =>
        alive(async () => {
          const trip = this.tripwire;
          this.tripwire = undefined;
          if (trip !== undefined && this.#parts.dice.chance(0.5)) {
            trip();
            return never();
          }
          const done = await store.commit(revision, changes, now);
          if (done.ok) this.#parts.onEvents(changes.events);
          trip?.();
          return done;
        }),
      events: (query) => alive(() => store.events(query)),
      usage: store.usage,
      close: () => Promise.resolve(),
    };
  }
}
