import type { NewEvent } from "../../src/core/event.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import type { Machine } from "../../src/agent/machine.ts";
import type { Inventory } from "../../src/core/node.ts";
import { Dice } from "./dice.ts";
import type { FaultName } from "./faults.ts";
import { inventoryOf, type NodeForm, nodeForms } from "./forms.ts";
import { type Mangle, Network } from "./network.ts";
import { SimAgent } from "./sim-agent.ts";
import { type Lifetime, quiesce, SimClock } from "./sim-clock.ts";
import { SimHost } from "./sim-host.ts";
import { machineOf } from "./sim-machine.ts";
import { SimPlane } from "./sim-plane.ts";
import type { Ending, SimProcess } from "./sim-process.ts";
import { type RoutedStream, SimRouter } from "./sim-router.ts";
import { Trace } from "./trace.ts";

/** Broken parts in place of whole ones: what the checks must find. */
export interface Planted {
  readonly mangle?: Mangle;
  readonly machine?: (machine: Machine, host: SimHost) => Machine;
  readonly routersReportNothing?: boolean;
  /** The share of silent nodes at which a control plane suspects itself. */
  readonly brake?: number;
  /** Nothing else is struck with, and nothing is ordered. */
  readonly onlyFault?: FaultName;
}

/** A node of the cluster, with what lives on it. */
export interface SimNode {
  readonly form: NodeForm;
  readonly host: SimHost;
  readonly failedGpus: Set<string>;
  agent: SimAgent | undefined;
}

/** An event of the control plane, and when it was committed. */
export interface Noted extends NewEvent {
  readonly at: number;
}

/** What the checks are told of as it happens. */
export interface Watch {
  /** Right before an agent's signal reaches a live engine. */
  signalled(host: SimHost, process: SimProcess): void;
  /** A router's stream ended with its engine. */
  cut(stream: RoutedStream, process: SimProcess, ending: Ending): void;
  noted(event: Noted): void;
}

/** The whole cluster in one process: one store, one control plane at a time, nodes with agents, and routers with clients. */
export class World {
  readonly dice: Dice;
  readonly clock = new SimClock();
  readonly trace: Trace;
  readonly network: Network;
  readonly plane: SimPlane;
  readonly nodes: readonly SimNode[];
  readonly routers: readonly SimRouter[];
  /** By subject, oldest first. */
  readonly events = new Map<string, Noted[]>();
  /** Where ranks meet of which one has crashed. */
  readonly brokenMeetings = new Set<string>();
  /** Something happened that the checks have not seen. */
  isTouched = false;
  readonly #planted: Planted;
  readonly #watches: Watch[] = [];
  #instances = 0;

  constructor(seed: number, planted: Planted = {}) {
    this.#planted = planted;
    this.dice = new Dice(seed);
    this.trace = new Trace(() => this.clock.now);
    this.network = new Network(this.clock, this.dice, planted.mangle);
    this.nodes = nodeForms(this.dice.whole(3, 5)).map((form) => this.#node(form));
    this.routers = Array.from({ length: this.dice.whole(1, 2) }, (_, index) => this.#router(index));
    const { clock, dice, network } = this;
    this.plane = new SimPlane({
      ...{ clock, dice, network },
      logger: silentLogger,
      brake: planted.brake,
      onEvents: (events) => {
        for (const event of events) this.note(event);
      },
    });
  }

  watch(watch: Watch): void {
    this.#watches.push(watch);
  }

  /** Starts whatever there is. */
  async start(): Promise<void> {
    await this.plane.open();
    await this.plane.start();
    for (const node of this.nodes) this.startAgent(node);
    for (const router of this.routers) {
      router.start({ reportNothing: this.#planted.routersReportNothing === true });
    }
    await quiesce();
  }

  startAgent(node: SimNode): void {
    if (node.agent?.life.isOver() === false) return;
    const { clock, dice, network } = this;
    this.#instances += 1;
    const { host } = node;
    const machineFor = (life: Lifetime): Machine => {
      const around = { clock, dice, reach: (from: SimHost, address: string) => this.#reach(from, address) };
      const machine = machineOf(host, life, around);
      return this.#planted.machine?.(machine, host) ?? machine;
    };
    const inventory = (): Inventory => inventoryOf(node.form, node.failedGpus);
    const agent = new SimAgent({ ...{ clock, dice, network, host, machineFor, inventory } }, String(this.#instances));
    node.agent = agent;
    void agent.run();
  }

  note(event: NewEvent): void {
    const noted = { ...event, at: this.clock.now };
    this.events.set(event.subject, [...(this.events.get(event.subject) ?? []), noted]);
    this.trace.add(`event ${event.reason} ${event.subject}: ${event.message}`);
    this.isTouched = true;
    for (const watch of this.#watches) watch.noted(noted);
  }

  #node(form: NodeForm): SimNode {
    const { clock, dice } = this;
    const { id, address } = form;
    const host = new SimHost(
      { id, address, logger: silentLogger },
      {
        ...{ clock, dice },
        events: {
          started: (on, { replica, stat }) => {
            this.trace.add(`started ${replica} on ${on.id} as ${String(stat.pid)}`);
            this.isTouched = true;
          },
          ended: (on, process, ending) => {
            this.#ended(on, process, ending);
          },
          signalled: (on, process, signal) => {
            this.trace.add(`${signal} for ${process.replica} on ${on.id}`);
            for (const watch of this.#watches) watch.signalled(on, process);
          },
          areAllThere: (place, ranks) => this.#ranksAt(place).length >= ranks,
        },
      },
    );
    return { form, host, failedGpus: new Set(), agent: undefined };
  }

  #router(index: number): SimRouter {
    const { clock, dice, network } = this;
    return new SimRouter(`router-${String(index + 1)}`, {
      ...{ clock, dice, network },
      deliver: (stream) => this.#deliver(stream),
      finish: ({ route }) => {
        const engine = this.#listenerAt(route)?.engine;
        if (engine !== undefined && engine.apiKey === route.apiKey) engine.streams -= 1;
      },
    });
  }

  #listenerAt({ host, port }: RoutedStream["route"]): SimProcess | undefined {
    return this.nodes.find(({ form }) => form.address === host)?.host.listener(port);
  }

  #deliver({ route }: RoutedStream): boolean {
    const engine = this.#listenerAt(route)?.engine;
    if (engine === undefined || engine.health === "loading" || engine.apiKey !== route.apiKey) return false;
    engine.streams += 1;
    return true;
  }

  #ended(host: SimHost, process: SimProcess, ending: Ending): void {
    const how = ending.by === "fault" ? ending.what : `the agent's ${ending.signal}`;
    this.trace.add(`ended ${process.replica} on ${host.id}: ${how}`);
    this.isTouched = true;
    const { engine } = process;
    if (engine === undefined) return;
    if (engine.meeting !== undefined && ending.by === "fault") this.brokenMeetings.add(engine.meeting.place);
    const isOn = ({ route }: RoutedStream): boolean =>
      route.host === host.address && route.port === engine.port && route.apiKey === engine.apiKey;
    for (const router of this.routers) {
      for (const stream of [...router.streams].filter(isOn)) {
        for (const watch of this.#watches) watch.cut(stream, process, ending);
        router.lose(stream);
      }
    }
    if (engine.meeting !== undefined) this.#loseOthers(engine.meeting.place);
  }

  /** Ranks that wait for one that is gone end by themselves, after a moment. */
  #loseOthers(place: string): void {
    for (const { host, process } of this.#ranksAt(place)) {
      this.clock.after(this.dice.between(300, 2500), () => {
        host.end(process, { by: "fault", what: "another rank is gone" }, 1);
      });
    }
  }

  #ranksAt(place: string): readonly { readonly host: SimHost; readonly process: SimProcess }[] {
    return this.nodes.flatMap(({ host }) =>
      host
        .engines()
        .filter(({ engine }) => engine?.meeting?.place === place)
        .map((process) => ({ host, process })),
    );
  }

  #reach(from: SimHost, address: string): SimHost | undefined {
    if (from.isCutOff) return undefined;
    const other = this.nodes.find(({ form }) => form.address === address);
    return other?.host.isCutOff === true || other?.agent?.life.isOver() !== false ? undefined : other.host;
  }
}
