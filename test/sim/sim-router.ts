import { onlyControlPlane } from "../../src/router/control-line.ts";
import { TableClient } from "../../src/router/table.ts";
import type { ReplicaRoute, RouteTable } from "../../src/core/route.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import type { Dice } from "./dice.ts";
import type { Network } from "./network.ts";
import type { Lifetime, SimClock } from "./sim-clock.ts";
import { ADMIN_TOKEN } from "./sim-plane.ts";

/** A request that a router has given to a replica, until it is answered. */
export interface RoutedStream {
  readonly router: SimRouter;
  readonly route: ReplicaRoute;
  readonly since: number;
}

interface Waiting {
  readonly profile: string;
  readonly model: string;
}

interface RouterParts {
  readonly clock: SimClock;
  readonly dice: Dice;
  readonly network: Network;
  /** Gives the stream to its engine. False: nobody is there. */
  readonly deliver: (stream: RoutedStream) => boolean;
  /** It was answered whole. */
  readonly finish: (stream: RoutedStream) => void;
}

/** How long a stream takes, ms. */
const LENGTH = [500, 20_000] as const;
/** How long a request waits for a replica to be started, ms. */
const PATIENCE = 60_000;

/** A router with its real session to the control plane; of its requests there is only how many are where. */
export class SimRouter {
  readonly id: string;
  readonly life: Lifetime;
  /** Since when it has had no trouble with the control plane. */
  steadySince = 0;
  readonly #parts: RouterParts;
  readonly #streams = new Set<RoutedStream>();
  readonly #waiting = new Set<Waiting>();
  #table: RouteTable | undefined;
  #changes = 0;
  #onColdWait: () => void = () => undefined;
  #isAsking = true;

  constructor(id: string, parts: RouterParts) {
    this.id = id;
    this.#parts = parts;
    this.life = parts.clock.lifetime({ offset: 0 });
  }

  /** `reportNothing`: it says that nothing is in flight whatever is. Only tests of the tests want that. */
  start({ reportNothing = false }: { readonly reportNothing?: boolean } = {}): void {
    const { network, dice } = this.#parts;
    const authorization = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const [self, counts] = [this, (): Readonly<Record<string, number>> => (reportNothing ? {} : this.#inFlight())];
    new TableClient({
      control: onlyControlPlane(network.wayOf(this.id, this.life, authorization)),
      holder: {
        get revision() {
          return self.#table?.revision;
        },
        get changes() {
          return self.#changes;
        },
        update: (table) => {
          this.#table = table;
          this.#changes += 1;
          this.#serveWaiting();
        },
        inFlight: counts,
        waiting: () => this.#counted([...this.#waiting].map(({ profile }) => profile)),
        set onColdWait(wake: () => void) {
          self.#onColdWait = wake;
        },
        get onColdWait() {
          return self.#onColdWait;
        },
      },
      keys: { update: () => undefined },
      routerId: this.id,
      clock: this.life.clock,
      random: dice.random,
      logger: silentLogger,
    }).start();
    this.#askLater();
  }

  get streams(): ReadonlySet<RoutedStream> {
    return this.#streams;
  }

  /** Clients stop sending requests. */
  rest(): void {
    this.#isAsking = false;
  }

  /** Its engine is gone. */
  lose(stream: RoutedStream): void {
    this.#streams.delete(stream);
    this.#changes += 1;
  }

  #askLater(): void {
    const { clock, dice } = this.#parts;
    clock.after(dice.between(300, 2500), () => {
      if (this.#isAsking) this.#ask();
      this.#askLater();
    });
  }

  #ask(): void {
    const models = (this.#table?.models ?? []).filter(({ alias }) => alias === undefined);
    const model = this.#parts.dice.pick(models);
    if (model === undefined) return;
    if (model.replicas.length > 0) this.#begin(model.replicas);
    else if (model.holds === true) this.#hold({ profile: model.profile, model: model.name });
  }

  #begin(routes: readonly ReplicaRoute[]): void {
    const { clock, dice, deliver, finish } = this.#parts;
    const load = this.#inFlight();
    const [best] = dice.shuffled(routes).toSorted((a, b) => (load[a.id] ?? 0) - (load[b.id] ?? 0));
    if (best === undefined) return;
    const stream: RoutedStream = { router: this, route: best, since: clock.now };
    this.#streams.add(stream);
    this.#changes += 1;
    if (!deliver(stream)) {
      this.lose(stream);
      return;
    }
    clock.after(dice.between(...LENGTH), () => {
      if (!this.#streams.delete(stream)) return;
      this.#changes += 1;
      finish(stream);
    });
  }

  #hold(waiting: Waiting): void {
    this.#waiting.add(waiting);
    this.#changes += 1;
    this.#onColdWait();
    this.#parts.clock.after(PATIENCE, () => {
      if (this.#waiting.delete(waiting)) this.#changes += 1;
    });
  }

  #serveWaiting(): void {
    for (const waiting of [...this.#waiting]) {
      const model = this.#table?.models.find(({ name }) => name === waiting.model);
      if (model !== undefined && model.replicas.length === 0) continue;
      this.#waiting.delete(waiting);
      if (model !== undefined) this.#begin(model.replicas);
    }
  }

  #inFlight(): Readonly<Record<string, number>> {
    return this.#counted([...this.#streams].map(({ route }) => route.id));
  }

  #counted(names: readonly string[]): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  }
}
