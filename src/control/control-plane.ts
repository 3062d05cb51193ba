import { type Millis, millis } from "../core/ids.ts";
import type { LookedModel } from "../core/model-facts.ts";
import type { Profile } from "../core/profile.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import type { Store } from "../store/store.ts";
import type { Door } from "./door.ts";
import type { Enrolment } from "./enrolment.ts";
import { ControlLoop, type LoopOptions } from "./loop.ts";
import { Agents } from "./sessions/agents.ts";
import { Routers } from "./sessions/routers.ts";
import type { Support } from "./support.ts";
import { UpstreamSecrets } from "./upstreams/secrets.ts";
import { ShareDesk } from "./usage/share-desk.ts";
import { UsageDesk } from "./usage/usage-desk.ts";
import { WeightsDesk } from "./weights-desk.ts";

export interface ControlPlaneOptions extends Pick<LoopOptions, "policy" | "mint"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** With it, nodes must show a certificate with their id as its name, and one with the admin role stands for the token. */
  readonly door: Door | undefined;
  readonly adminToken: string;
  /** Makes certificates for nodes that join. Left out: nodes have none, and join by their token alone. */
  readonly enrolment?: Enrolment | undefined;
  /** How the control plane is reached from outside; "" when nobody has said. Asked each time: it may change. */
  readonly publicUrl?: () => string;
  /** Where clients send requests; "" when this server carries no router. Asked each time: the port may be chosen late. */
  readonly routerUrl: () => string;
  /** Asks a model's source what it is, without fetching it. Bounded by the signal; what cannot be found out is said so. */
  readonly lookAtModel: LookAtModel;
  /** Where the control plane keeps its own secrets, none of which is an upstream's key. */
  readonly ownFolder?: string;
  /** How long usage is kept; left out: about a year. */
  readonly usageRetain?: Millis;
  /** Left out: there is no process around it that could be looked after. */
  readonly support?: Support;
}

export type LookAtModel = (profile: Profile, signal: AbortSignal) => Promise<LookedModel>;

/** The parts of a running control plane, for the handlers that answer from them. */
export interface ControlPlane extends ControlPlaneOptions {
  readonly loop: ControlLoop;
  readonly agents: Agents;
  readonly routers: Routers;
  readonly usage: UsageDesk;
  readonly upstreamSecrets: UpstreamSecrets;
  readonly weights: WeightsDesk;
  /** Resolves when everything that routers have said is in the store. For the end, when no router is connected any more. */
  settled(): Promise<void>;
  readonly startedAt: Millis;
}

/** Two a second: only a server that published more tables than that on average could be overtaken by its successor. */
const REVISIONS_PER_MS = 2 / 1000;
const USUALLY_RETAINED: Millis = millis(400 * 86_400_000);

/** Loads the store and takes the first turn. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { clock, store, policy, logger, mint } = options;
  const startedAt = clock.now();
  // Tables of this server have higher numbers than those of its predecessor, although no number is stored.
  const table = { revision: Math.floor(startedAt * REVISIONS_PER_MS), models: [] };
  const later: { loop: ControlLoop | undefined; weights: WeightsDesk | undefined } = {
    loop: undefined,
    weights: undefined,
  };
  const { unreachableAfter } = policy.liveness;
  // Asked each time: it may change while they are connected.
  const silentAfter = (): Millis => later.loop?.policy.liveness.unreachableAfter ?? unreachableAfter;
  const agents = new Agents({
    clock,
    silentAfter,
    wake: () => later.loop?.wake(),
    sharingChanged: () => later.weights?.changed(),
  });
  const usage = await UsageDesk.start({
    store: store.usage,
    clock,
    logger,
    retain: options.usageRetain ?? USUALLY_RETAINED,
  });
  const shares = await ShareDesk.start({ store: store.usage, clock, logger });
  const routers = new Routers({
    clock,
    table,
    goneAfter: silentAfter,
    wake: () => later.loop?.wakeForRouters(),
    parts: [usage, shares],
  });
  const upstreamSecrets = new UpstreamSecrets({ clock, ownFolder: options.ownFolder });
  const loop = await ControlLoop.start({ store, policy, clock, logger, agents, routers, table, mint, upstreamSecrets });
  later.loop = loop;
  const weights = new WeightsDesk({
    ...{ agents, clock },
    isOn: () => loop.policy.weightsPeers,
    report: (event) => {
      loop.report(event);
    },
  });
  later.weights = weights;
  const settled = async (): Promise<void> => {
    weights.stop();
    await usage.settled();
    await shares.settled();
  };
  return { ...options, loop, agents, routers, usage, upstreamSecrets, weights, settled, startedAt };
}
