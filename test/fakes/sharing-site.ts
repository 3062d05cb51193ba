import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRecordBook } from "../../src/agent/weights/folder.ts";
import { Peers } from "../../src/agent/weights/peers/peers.ts";
import { createWeightStore, type WeightStore } from "../../src/agent/weights/store.ts";
import { WeightsDesk } from "../../src/control/weights-desk.ts";
import type { NewEvent } from "../../src/core/event.ts";
import { millis, type NodeId, nodeId } from "../../src/core/ids.ts";
import type { SharingPlan } from "../../src/core/sharing.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader } from "../../src/platform/fetch/download.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import type { FollowedTls } from "../../src/pki/follow.ts";

export interface SharingNode {
  readonly id: NodeId;
  readonly dir: string;
  readonly peers: Peers;
  readonly store: WeightStore;
  /** What the control plane last told it. */
  plan(): SharingPlan | undefined;
  /** The control plane hears and says nothing any more. */
  cut(): void;
  /** As a kill does it: nothing answers any more. */
  stop(): Promise<void>;
}

interface NodeOptions {
  readonly site?: string;
  /** False: it serves nobody. */
  readonly serves?: boolean;
  readonly tls?: FollowedTls;
  readonly onSuspects?: (keys: readonly string[]) => void;
  /** Of its agent. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Known {
  readonly node: SharingNode;
  readonly instance: string;
  readonly site: string;
  isConnected: boolean;
  told: string;
}

/** The sharing of weights without the rest of a cluster: nodes with real files and real ports, and what tells them whom to ask. */
export class SharingSite {
  readonly events: NewEvent[] = [];
  readonly dir: string;
  isOn = true;
  readonly desk: WeightsDesk;
  readonly #nodes = new Map<NodeId, Known>();
  readonly #plans = new Map<NodeId, SharingPlan>();

  private constructor(dir: string) {
    this.dir = dir;
    this.desk = new WeightsDesk({
      clock: systemClock,
      isOn: () => this.isOn,
      report: (event) => this.events.push(event),
      agents: {
        gatherSharing: () =>
          [...this.#nodes.values()]
            .filter(({ isConnected }) => isConnected)
            .map(({ node, instance, site }) => ({
              ...{ id: node.id, instance, address: "127.0.0.1", report: node.peers.report() },
              labels: site === "" ? {} : { site },
            })),
        publishSharing: (id, plan) => {
          this.#publish(id, plan);
        },
      },
    });
  }

  static async start(): Promise<SharingSite> {
    return new SharingSite(await mkdtemp(join(tmpdir(), "llmgw-sharing-")));
  }

  #publish(id: NodeId, plan: SharingPlan): void {
    const known = this.#nodes.get(id);
    const text = JSON.stringify(plan);
    if (known === undefined || known.told === text) return;
    known.told = text;
    this.#plans.set(id, plan);
    known.node.peers.onPlan(plan);
  }

  /** A node with an empty folder, or with what one of that name left. */
  async node(
    name: string,
    { site = "", serves = true, tls, onSuspects, env = {} }: NodeOptions = {},
  ): Promise<SharingNode> {
    const id = nodeId(name);
    const dir = join(this.dir, name);
    const records = createRecordBook();
    const retry = { tries: 2, firstDelay: millis(1), maxDelay: millis(2) };
    const downloader = createDownloader({ env: {}, clock: systemClock, retry });
    const peers = new Peers({
      ...{ node: id, dir, records, downloader, clock: systemClock, random: Math.random, logger: silentLogger },
      isConnected: () => this.#nodes.get(id)?.isConnected ?? false,
      changed: () => {
        if (this.#nodes.get(id)?.isConnected === true) this.desk.changed();
      },
      onSuspects: onSuspects ?? (() => undefined),
    });
    const store = createWeightStore({
      ...{ dir, modelDirs: [], downloader, env: { HOME: join(this.dir, "home"), ...env }, records },
      ...{ logger: silentLogger, clock: systemClock, share: (job) => peers.fetch(job) },
    });
    const stop = async (): Promise<void> => {
      this.#nodes.delete(id);
      await peers.close();
      await downloader.close();
    };
    const cut = (): void => {
      const known = this.#nodes.get(id);
      if (known !== undefined) known.isConnected = false;
      peers.onLoss();
    };
    const node = { id, dir, peers, store, cut, stop, plan: () => this.#plans.get(id) };
    this.#nodes.set(id, { node, instance: randomUUID(), site, isConnected: true, told: "" });
    if (tls !== undefined) peers.useTls(tls);
    if (serves) peers.listenAt({ host: "127.0.0.1", port: 0 });
    await peers.refresh();
    return node;
  }

  async stop(): Promise<void> {
    this.desk.stop();
    for (const { node } of [...this.#nodes.values()]) await node.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}
