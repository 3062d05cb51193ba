import { CONNECT_TIMEOUT } from "./network.ts";
import type { SimNode, World } from "./world.ts";

export type FaultName = (typeof FAULTS)[number]["name"];

interface Fault {
  readonly name: string;
  readonly weight: number;
  /** Harms, and undoes it later by itself. */
  readonly strike: (world: World) => void;
}

const someNode = (world: World): SimNode => world.dice.pick(world.nodes) ?? (world.nodes[0] as SimNode);

const ofNode =
  (strike: (world: World, node: SimNode) => void): Fault["strike"] =>
  (world) => {
    const node = someNode(world);
    world.trace.add(`of ${node.form.id}`);
    strike(world, node);
  };

const ofEngine =
  (strike: (world: World, on: { node: SimNode; pid: number }) => void): Fault["strike"] =>
  (world) => {
    const all = world.nodes.flatMap((node) => node.host.engines().map(({ stat }) => ({ node, pid: stat.pid })));
    const one = world.dice.pick(all);
    if (one === undefined) return;
    world.trace.add(`of ${one.node.form.id}: ${String(one.pid)}`);
    strike(world, one);
  };

const parties = (world: World): readonly string[] => [
  ...world.nodes.map(({ form }) => form.id),
  ...world.routers.map(({ id }) => id),
];

/** From when on a router can be trusted to know what is drained. */
function unsteady(world: World, party: string, until: number): void {
  const router = world.routers.find(({ id }) => id === party);
  if (router !== undefined) router.steadySince = Math.max(router.steadySince, world.clock.now + until);
}

/** How long a router takes to find out that its connection is dead, ms. */
const PING_TIMEOUT = 6_000;
/** A router that can reach a control plane has its routes within so long, ms: it waits at most 5 s between two tries. */
const RETURN = 10_000;

function cutOff(world: World, party: string, forMs: number): void {
  world.trace.add(`${party} is cut off for ${(forMs / 1000).toFixed(1)} s`);
  world.network.weatherOf(party).isCut = true;
  const host = world.nodes.find(({ form }) => form.id === party)?.host;
  if (host !== undefined) host.isCutOff = true;
  // A control plane that started meanwhile knows nothing of the router until then, and waits for connected routers only.
  unsteady(world, party, forMs + CONNECT_TIMEOUT + RETURN);
  if (host === undefined && forMs > PING_TIMEOUT) {
    // Routers ping; agents find out by their heartbeats.
    const later = forMs - PING_TIMEOUT + world.dice.between(0, 5_000);
    world.clock.after(PING_TIMEOUT, () => {
      world.network.breakStreams(party, later);
    });
  }
  const isLate = world.dice.chance(0.5);
  world.clock.after(forMs, () => {
    if (host !== undefined) host.isCutOff = false;
    world.network.mend(party, isLate);
  });
}

function killAgent(world: World, node: SimNode): void {
  node.agent?.kill();
  world.clock.after(world.dice.between(100, 20_000), () => {
    world.startAgent(node);
  });
}

function killPlane(world: World): void {
  world.plane.kill();
  world.clock.after(world.dice.between(0, 40_000), () => {
    void world.plane.start();
  });
}

export const FAULTS = [
  {
    name: "a stream breaks: premature close",
    weight: 4,
    strike: (world) => {
      const party = world.dice.pick(parties(world)) ?? "";
      world.trace.add(`of ${party}`);
      unsteady(world, party, RETURN);
      world.network.breakStreams(party, world.dice.chance(0.5) ? 0 : world.dice.between(0, 8_000));
    },
  },
  {
    name: "a node or a router is cut off",
    weight: 4,
    strike: (world) => {
      cutOff(world, world.dice.pick(parties(world)) ?? "", world.dice.between(500, 100_000));
    },
  },
  {
    name: "most nodes are silent at once",
    weight: 2,
    strike: (world) => {
      const forMs = world.dice.between(30_000, 140_000);
      const most = Math.floor(world.nodes.length / 2) + 1;
      for (const { form } of world.dice.shuffled(world.nodes).slice(0, most)) cutOff(world, form.id, forMs);
    },
  },
  { name: "an agent is killed", weight: 4, strike: ofNode(killAgent) },
  {
    name: "an agent is killed in the middle of what it does",
    weight: 3,
    strike: ofNode((world, node) => {
      node.host.tripwire = () => {
        killAgent(world, node);
      };
    }),
  },
  {
    name: "an agent is restarted",
    weight: 2,
    strike: ofNode((world, node) => {
      node.agent?.leave();
      world.clock.after(world.dice.between(5_000, 10_000), () => {
        world.startAgent(node);
      });
    }),
  },
  {
    name: "a machine reboots",
    weight: 1,
    strike: ofNode((world, node) => {
      node.agent?.kill();
      node.host.reboot();
      world.clock.after(world.dice.between(5_000, 90_000), () => {
        world.startAgent(node);
      });
    }),
  },
  {
    name: "a node is slow",
    weight: 2,
    strike: ofNode((world, { host }) => {
      const weather = world.network.weatherOf(host.id);
      host.slowness = world.dice.between(2, 8);
      weather.latency = world.dice.between(100, 2_500);
      world.clock.after(world.dice.between(5_000, 60_000), () => {
        host.slowness = 1;
        weather.latency = 1;
      });
    }),
  },
  {
    name: "messages arrive twice",
    weight: 2,
    strike: (world) => {
      const weather = world.network.weatherOf(world.dice.pick(parties(world)) ?? "");
      weather.repeats = world.dice.between(0.1, 0.6);
      world.clock.after(world.dice.between(10_000, 60_000), () => {
        weather.repeats = 0;
      });
    },
  },
  {
    name: "a clock is set",
    weight: 2,
    strike: (world) => {
      // One that is set while no control plane runs on it cannot be seen by any.
      const ofPlane = world.plane.running === undefined ? [] : [world.plane.wall];
      const walls = [...world.nodes.map(({ host }) => host.wall), ...ofPlane];
      const wall = world.dice.pick(walls);
      if (wall !== undefined) wall.offset += world.dice.between(-1, 1) * world.dice.between(100, 3_600_000);
    },
  },
  {
    name: "a disk is full",
    weight: 2,
    strike: ofNode((world, { host }) => {
      host.isDiskFull = true;
      world.clock.after(world.dice.between(5_000, 60_000), () => {
        host.isDiskFull = false;
      });
    }),
  },
  {
    name: "an engine crashes",
    weight: 4,
    strike: ofEngine((world, { node: { host }, pid }) => {
      const process = host.processes.get(pid);
      if (process !== undefined)
        host.end(process, { by: "fault", what: "it crashed" }, world.dice.chance(0.5) ? 1 : 139);
    }),
  },
  {
    name: "an engine hangs",
    weight: 2,
    strike: ofEngine((_, { node: { host }, pid }) => {
      const engine = host.processes.get(pid)?.engine;
      if (engine?.health === "ready") engine.health = "hung";
    }),
  },
  {
    name: "engines do not start",
    weight: 1,
    strike: ofNode((world, { host }) => {
      host.badStarts = world.dice.whole(1, 4);
    }),
  },
  {
    name: "a GPU falls off the bus",
    weight: 1,
    strike: ofNode((world, node) => {
      const gpu = world.dice.pick(node.form.gpus) ?? "";
      node.failedGpus.add(gpu);
      world.clock.after(world.dice.between(10_000, 60_000), () => {
        node.failedGpus.delete(gpu);
      });
    }),
  },
  {
    name: "the control plane is killed",
    weight: 3,
    strike: killPlane,
  },
  {
    name: "the control plane is killed in the middle of a commit",
    weight: 2,
    strike: (world) => {
      world.plane.tripwire = () => {
        killPlane(world);
      };
    },
  },
] as const satisfies readonly Fault[];

/** Everything is mended at once, and whoever is away comes back. */
export function heal(world: World): void {
  for (const party of parties(world)) {
    const weather = world.network.weatherOf(party);
    Object.assign(weather, { latency: 1, repeats: 0 });
    if (weather.isCut) world.network.mend(party, world.dice.chance(0.5));
  }
  for (const node of world.nodes) {
    const { host } = node;
    host.tripwire = undefined;
    Object.assign(host, { slowness: 1, isDiskFull: false, badStarts: 0, isCutOff: false });
    host.wall.offset = 0;
    node.failedGpus.clear();
    world.startAgent(node);
  }
  world.plane.tripwire = undefined;
}
