import { LlmgwError, messageOf } from "../core/errors.ts";
import type { NewEvent } from "../core/event.ts";
import { type Millis, millis, plus, type ReplicaId } from "../core/ids.ts";
import { err, type Result } from "../core/result.ts";
import type { ModelRoute, RouteTable } from "../core/route.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { hearingSince, type LivenessVerdict } from "../reconcile/liveness.ts";
import type { Snapshot, Store } from "../store/store.ts";
import { changesBetween, isEmpty } from "./changes.ts";
import { afterAbsence } from "./after-absence.ts";
import { afterStep, stepBetween } from "./clock-step.ts";
import { decide, type Decided, type Gathered } from "./decide.ts";
import { desiredStates } from "./desired-states.ts";
import type { Change } from "./manifest-change.ts";
import type { ControlPolicy } from "./policy.ts";
import { endedRollouts, NO_ROLLOUTS, type RolloutCounts } from "./rollout-count.ts";
import { goneSince, modelRoutes, nextTable } from "./routes.ts";
import type { Demands } from "./scaling.ts";
import type { Agents } from "./sessions/agents.ts";
import type { Routers } from "./sessions/routers.ts";
import { upstreamRoutes } from "./upstreams/routes.ts";
import type { UpstreamSecrets } from "./upstreams/secrets.ts";

/** Silences and deadlines are looked at this often when nothing else happens. */
const TICK = millis(1_000);
/** News that arrives together is decided on together. */
const GATHER_FOR = millis(10);
/** What a turn took, this many times over, is everybody else's: of thousands of nodes one always has news. */
const PAUSE = 4;
/** How long routers may take to come back to a server that was started again. */
const ROUTERS_RETURN = millis(15_000);
/** Somebody else commits at the same time again and again: that is no accident. */
const MOST_STALE = 10;

export interface LoopOptions {
  readonly store: Store;
  readonly policy: ControlPolicy;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly agents: Agents;
  readonly routers: Routers;
  readonly table: RouteTable;
  readonly mint: Gathered["mint"];
  readonly upstreamSecrets: UpstreamSecrets;
}

type Ask = (snapshot: Snapshot) => Result<Change<unknown>, unknown>;

interface Command {
  readonly ask: Ask;
  readonly settle: (result: Result<unknown, unknown>) => void;
  readonly fail: (error: Error) => void;
}

/** The one writer of the cluster's state: gather, decide, commit, publish. Everybody else asks it or reads. */
export class ControlLoop {
  readonly #options: LoopOptions;
  #snapshot: Snapshot;
  #liveness: Pick<LivenessVerdict, "braked" | "silent" | "watched"> = { braked: [], silent: 0, watched: 0 };
  #table: RouteTable;
  #goneSince: ReadonlyMap<ReplicaId, number> = new Map();
  #commands: Command[] = [];
  #events: NewEvent[] = [];
  #demands: Demands = new Map();
  #rollouts: RolloutCounts = NO_ROLLOUTS;
  #isFirst = true;
  #policy: ControlPolicy;
  #awakeSince: Millis;
  #lastTurn: Millis;
  /** By how much the wall clock was ahead of the one that never steps, at the last turn. */
  #ahead: Millis;
  readonly #settledAt: Millis;
  #cancelTimer: () => void = () => undefined;
  #turn: Promise<void> | undefined;
  #isWoken = false;
  /** From the end of a turn to the next, when something is new. */
  #pause: Millis = GATHER_FOR;
  #isStopped = false;
  #failure: Error | undefined;

  private constructor(options: LoopOptions, snapshot: Snapshot) {
    this.#options = options;
    this.#snapshot = snapshot;
    this.#table = options.table;
    this.#policy = options.policy;
    const now = options.clock.monotonic();
    this.#awakeSince = now;
    this.#lastTurn = now;
    this.#ahead = aheadOf(options.clock);
    // Where nothing was served, no router can have anything in flight.
    const served = snapshot.replicas.some(({ state }) => state.kind === "ready" || state.kind === "draining");
    this.#settledAt = served ? plus(now, ROUTERS_RETURN) : now;
  }

  /** Loads what is remembered and takes the first turn. */
  static async start(options: LoopOptions): Promise<ControlLoop> {
    const snapshot = afterAbsence(await options.store.load(), options.clock.now());
    // Routers that come at once are to find whole routes.
    await options.upstreamSecrets.look(snapshot.upstreams.map(({ upstream }) => upstream));
    const loop = new ControlLoop(options, snapshot);
    await loop.#run();
    if (loop.#failure !== undefined) throw loop.#failure;
    return loop;
  }

  /** Why the last turn came to nothing; undefined: it did not. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  get table(): RouteTable {
    return this.#table;
  }

  get liveness(): Pick<LivenessVerdict, "braked" | "silent" | "watched"> {
    return this.#liveness;
  }

  /** How many replicas the profiles are to have that follow their load. */
  get demands(): Demands {
    return this.#demands;
  }

  /** How the rollouts ended that ended since this control plane started. */
  get rollouts(): RolloutCounts {
    return this.#rollouts;
  }

  get policy(): ControlPolicy {
    return this.#policy;
  }

  /** Decides by another policy from the next turn on, which comes soon. */
  use(policy: ControlPolicy): void {
    this.#policy = policy;
    // What nodes are told may follow from it, so all of it is looked at anew.
    this.#isFirst = true;
    this.wake();
  }

  /** Something is new: a turn comes soon. */
  wake(): void {
    if (this.#isWoken || this.#isStopped) return;
    this.#isWoken = true;
    if (this.#turn === undefined) this.#schedule(this.#pause);
  }

  /** A turn is only worth it when somebody waits for routers to let go, or follows what they have. */
  wakeForRouters(): void {
    if (this.#demands.size > 0 || this.#snapshot.replicas.some(({ state }) => state.kind === "draining")) this.wake();
  }

  /** Notes an event with the next commit. */
  report(event: NewEvent): void {
    this.#events.push(event);
    this.wake();
  }

  /**
   * Alters the snapshot, within the next turn. Resolves once the change is committed, or with the refusal that `ask` gave;
   * rejects when it could not be written. `ask` is pure: it may be asked again on a newer snapshot.
   */
  change<T, E>(ask: (snapshot: Snapshot) => Result<Change<T>, E>): Promise<Result<T, E>> {
    if (this.#isStopped) return Promise.reject(new LlmgwError("UNREACHABLE", "the control plane is stopping"));
    const { promise, resolve, reject } = Promise.withResolvers<Result<T, E>>();
    this.#commands.push({
      ask,
      settle: (result) => {
        resolve(result as Result<T, E>);
      },
      fail: reject,
    });
    this.wake();
    return promise;
  }

  /** Takes a last turn that writes what is new. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#turn;
    await this.#run();
  }

  #schedule(delay: Millis): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(delay, () => {
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#turn !== undefined) return this.#turn;
    this.#cancelTimer();
    const began = this.#options.clock.monotonic();
    this.#turn = this.#takeTurn().finally(() => {
      this.#turn = undefined;
      const took = this.#options.clock.monotonic() - began;
      this.#pause = millis(Math.min(TICK, Math.max(GATHER_FOR, took * PAUSE)));
    });
    await this.#turn;
    if (!this.#isStopped) this.#schedule(this.#isWoken ? this.#pause : TICK);
  }

  async #takeTurn(): Promise<void> {
    this.#isWoken = false;
    const commands = this.#commands.splice(0);
    const events = this.#events.splice(0);
    this.#followUpstreams();
    try {
      const settle = await this.#decideAndCommit(commands, events);
      this.#publish();
      settle();
      this.#failure = undefined;
    } catch (error) {
      this.#failure = LlmgwError.from(error);
      this.#events.unshift(...events);
      this.#options.logger.error({ err: error }, "a turn of the control loop failed; the next one tries again");
      for (const { fail } of commands) fail(LlmgwError.from(error));
    }
  }

  /** Resolves to what tells the askers. */
  async #decideAndCommit(commands: readonly Command[], noted: readonly NewEvent[]): Promise<() => void> {
    const { store, clock } = this.#options;
    const ahead = aheadOf(clock);
    const step = stepBetween(this.#ahead, ahead);
    if (step !== 0) this.#options.logger.warn({ step }, "this machine's clock was set; deadlines move with it");
    for (let attempt = 0; attempt < MOST_STALE; attempt++) {
      const asked = obey(afterStep(this.#snapshot, step), commands);
      const decided = this.#decide(asked.snapshot);
      const events = [...noted, ...asked.events, ...decided.events];
      const changes = changesBetween(this.#snapshot, decided.snapshot, events);
      const written = isEmpty(changes)
        ? { ok: true as const, value: this.#snapshot.revision }
        : await store.commit(this.#snapshot.revision, changes, clock.now());
      if (written.ok) {
        // What was decided may be a reason for more: the next turn does not wait for a tick.
        if (!isEmpty(changes)) this.#isWoken = true;
        this.#ahead = ahead;
        this.#adopt({ ...decided, events, snapshot: { ...decided.snapshot, revision: written.value } });
        return asked.settle;
      }
      this.#snapshot = await store.load();
    }
    throw new LlmgwError("CONFLICT", "another process keeps writing to the same store");
  }

  /** What is found out at this moment, for whoever wants to know what would follow from something. */
  gather(): Gathered {
    const { clock, agents, routers, mint } = this.#options;
    const monotonic = clock.monotonic();
    const settled = monotonic >= this.#settledAt;
    return {
      now: clock.now(),
      monotonic,
      awakeSince: this.#awakeSince,
      nodes: agents.gather(),
      routers: { reports: routers.reports(), goneSince: this.#goneSince, settled },
      demands: this.#demands,
      policy: this.#policy,
      isFirst: this.#isFirst,
      mint,
    };
  }

  #decide(snapshot: Snapshot): Decided {
    const monotonic = this.#options.clock.monotonic();
    this.#awakeSince = hearingSince({ awakeSince: this.#awakeSince, lastTurn: this.#lastTurn }, monotonic, TICK);
    this.#lastTurn = monotonic;
    return decide(snapshot, this.gather());
  }

  #adopt({ snapshot, liveness, events, demands }: Decided): void {
    this.#isFirst = false;
    this.#demands = demands;
    for (const outcome of endedRollouts(this.#snapshot, snapshot)) {
      this.#rollouts = { ...this.#rollouts, [outcome]: this.#rollouts[outcome] + 1 };
    }
    this.#snapshot = snapshot;
    this.#liveness = liveness;
    for (const { subject, reason, message } of events) this.#options.logger.info({ subject, reason }, message);
  }

  #publish(): void {
    const { agents, routers } = this.#options;
    const desired = desiredStates(this.#snapshot, this.#policy);
    for (const node of this.#snapshot.nodes) {
      // One that came back after this was decided is told what it is to do when what it says has been heard.
      if (node.liveness !== "connected") continue;
      agents.publish(node.id, node.desiredRevision, () => desired(node));
    }
    this.#table = nextTable(this.#table, this.#models(), this.#snapshot.serverId);
    this.#goneSince = goneSince(this.#goneSince, this.#snapshot.replicas, this.#table);
    routers.publish(this.#table);
    routers.publishKeys(this.#snapshot.keys);
  }

  #models(): readonly ModelRoute[] {
    const { upstreamSecrets } = this.#options;
    const own = modelRoutes(this.#snapshot, this.#demands);
    const elsewhere = upstreamRoutes(this.#snapshot.upstreams, (upstream) => upstreamSecrets.of(upstream));
    return elsewhere.length === 0 ? own : [...own, ...elsewhere].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #followUpstreams(): void {
    const upstreams = this.#snapshot.upstreams.map(({ upstream }) => upstream);
    void this.#options.upstreamSecrets.follow(upstreams, (events) => {
      for (const event of events) this.report(event);
    });
  }
}

const aheadOf = (clock: Clock): Millis => millis(clock.now() - clock.monotonic());

interface Obeyed {
  readonly snapshot: Snapshot;
  readonly events: readonly NewEvent[];
  readonly settle: () => void;
}

/** Every command in turn, each on what those before it left. One that throws or refuses leaves no trace. */
function obey(before: Snapshot, commands: readonly Command[]): Obeyed {
  let snapshot = before;
  const events: NewEvent[] = [];
  const settles: (() => void)[] = [];
  for (const { ask, settle, fail } of commands) {
    const result = asked(ask, snapshot);
    if (result instanceof Error) {
      settles.push(() => {
        fail(result);
      });
      continue;
    }
    if (result.ok) {
      snapshot = result.value.snapshot;
      events.push(...result.value.events);
    }
    settles.push(() => {
      settle(result.ok ? { ok: true, value: result.value.answer } : err(result.error));
    });
  }
  return {
    snapshot,
    events,
    settle: () => {
      for (const settle of settles) settle();
    },
  };
}

function asked(ask: Ask, snapshot: Snapshot): Result<Change<unknown>, unknown> | Error {
  try {
    return ask(snapshot);
  } catch (error) {
    return error instanceof Error ? error : new Error(messageOf(error));
  }
}
