import { ControlLink } from "../../src/agent/control-link.ts";
import type { Machine } from "../../src/agent/machine.ts";
import type { Prepare } from "../../src/agent/node-context.ts";
import { PortBook } from "../../src/agent/port-book.ts";
import { createPrepare } from "../../src/agent/preparation.ts";
import { Replicas } from "../../src/agent/replicas.ts";
import { bytes, type Millis, millis, nodeId } from "../../src/core/ids.ts";
import type { DesiredState } from "../../src/core/desired.ts";
import type { Inventory } from "../../src/core/node.ts";
import { err, ok } from "../../src/core/result.ts";
import { engineOf } from "../../src/engines/list.ts";
import { type Clock, pause } from "../../src/platform/clock.ts";
import { GiB } from "../fakes/values.ts";
import type { Dice } from "./dice.ts";
import type { Network } from "./network.ts";
import { type Lifetime, type SimClock } from "./sim-clock.ts";
import type { SimHost } from "./sim-host.ts";

export interface AgentParts {
  readonly clock: SimClock;
  readonly dice: Dice;
  readonly network: Network;
  readonly host: SimHost;
  /** The host as an agent of that life sees it. */
  readonly machineFor: (life: Lifetime) => Machine;
  /** What the machine is; the weights on its disk are added. */
  readonly inventory: () => Inventory;
}

const HEARTBEAT: Millis = millis(5_000);
const PORTS = { first: 41_000, last: 41_039 };
const WORK_DIR = "/w";
const WEIGHTS = "/models/";
const MODEL_BYTES = bytes(4 * 2 ** 30);
/** What an engine is found to take of each of its GPUs. */
const USED = bytes(8 * GiB);
/** An engine that does not get on is found within a simulated minute. */
const HANG_POLICY = { slowAfter: millis(5_000), proveAfter: millis(15_000), hungAfter: millis(30_000) };

/** The agent of one node, from start to crash. */
export class SimAgent {
  readonly life: Lifetime;
  readonly #parts: AgentParts;
  readonly #replicas: Replicas;
  readonly #link: ControlLink;
  #desired: DesiredState | undefined;
  #hasLeft = false;

  constructor(parts: AgentParts, instance: string) {
    this.#parts = parts;
    this.life = parts.clock.lifetime(parts.host.wall);
    const { dice, host, network, inventory } = parts;
    const { clock } = this.life;
    const { random } = dice;
    const machine = parts.machineFor(this.life);
    const { logger } = host;
    this.#replicas = new Replicas(
      {
        ...{ clock, random, logger, machine, engineOf },
        workDir: WORK_DIR,
        bootId: host.bootId,
        prepare: this.#prepare(clock),
        ports: new PortBook(PORTS, (_, port) => Promise.resolve(host.listener(port) === undefined)),
        address: () => host.address,
        isLocal: () => true,
        interfaces: () => [{ interface: "eth0", address: host.address, family: "IPv4", loopback: false }],
        fabricPorts: (name) => inventory().fabrics.find((fabric) => fabric.name === name)?.ports ?? [],
        gpus: () => inventory().gpus,
        cgroupHomes: () => Promise.resolve([]),
        gpuHolders: () => Promise.resolve([]),
        measure: (_, gpuIds) =>
          Promise.resolve({ host: bytes(GiB), gpus: gpuIds.map((uuid) => ({ uuid, bytes: USED })) }),
        stopTimeout: millis(10_000),
        healthInterval: millis(5_000),
        hangPolicy: HANG_POLICY,
        logLines: 5,
      },
      () => {
        this.#link.changed();
      },
    );
    this.#link = new ControlLink({
      servers: ["the control plane"],
      dial: () => Promise.resolve({ transport: network.wayOf(host.id, this.life), close: () => undefined }),
      node: {
        id: nodeId(host.id),
        instanceId: instance,
        heartbeatInterval: HEARTBEAT,
        inventory: () => ({ ...inventory(), weights: heldOn(host) }),
        observed: () => this.#replicas.observed,
        logPathOf: () => undefined,
        onDesired: (desired) => {
          this.#desired = desired;
          this.#replicas.apply(desired);
          this.#link.changed();
        },
        onCertificate: () => undefined,
      },
      backoff: { base: millis(500), max: millis(5_000) },
      ...{ clock, random, logger },
    });
  }

  /** Takes over what runs, then connects. */
  async run(): Promise<void> {
    await this.#replicas.adopt();
    await this.#link.run();
  }

  /** As by SIGTERM: a goodbye, and the engines stay. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#link.leave();
    void this.#replicas.detach().then(() => {
      this.life.end();
    });
  }

  /** As by SIGKILL. */
  kill(): void {
    this.life.end();
    this.#parts.host.meetings.clear();
    this.#parts.network.breakStreams(this.#parts.host.id, this.#parts.dice.between(0, 3000));
  }

  #prepare(clock: Clock): Prepare {
    const { dice, host } = this.#parts;
    return createPrepare({
      readStart: () => Promise.resolve(undefined),
      sourceOf: (engine) => this.#desired?.engines[engine],
      provider: {
        ensure: (name) =>
          Promise.resolve(ok({ name, version: "1.0", origin: "configured", path: `/opt/${name}`, devices: [] })),
      },
      weights: {
        ensure: async ({ source }, { choose, onProgress, signal }) => {
          const folder = WEIGHTS + source.replaceAll(/[^a-z0-9]/gi, "_");
          const files = [
            { name: "model.gguf", bytes: MODEL_BYTES },
            { name: "config.json", bytes: 1 },
            { name: "model.safetensors", bytes: MODEL_BYTES },
          ].filter(({ name }) => name.endsWith(".gguf") !== source.includes("safetensors"));
          const choice = choose(files);
          if (!choice.ok) return err({ kind: "choice", message: choice.error, retry: false });
          for (let part = 0; part < 4 && !host.disk.has(`${folder}/whole`); part++) {
            await pause(clock, millis(dice.between(100, 1500) * host.slowness), signal);
            if (signal.aborted) return err({ kind: "aborted", message: "given up", retry: true });
            if (host.isDiskFull) return err({ kind: "no-space", message: "the disk is full", retry: true });
            const bytesDone = bytes((MODEL_BYTES * part) / 4);
            onProgress({ what: source, bytesDone, bytesTotal: MODEL_BYTES, bytesPerSecond: 2 ** 30 });
          }
          host.disk.set(`${folder}/whole`, source);
          this.#link.changed();
          const mainPath = choice.value.main === "" ? folder : `${folder}/${choice.value.main}`;
          return ok({
            mainPath,
            folder,
            bytes: MODEL_BYTES,
            files: choice.value.files.map((name) => `${folder}/${name}`),
          });
        },
      },
    });
  }
}

const heldOn = (host: SimHost) =>
  [...host.disk].flatMap(([path, source]) => (path.startsWith(WEIGHTS) ? [{ source, path, bytes: MODEL_BYTES }] : []));
