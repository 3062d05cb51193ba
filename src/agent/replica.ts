import type { DesiredReplica } from "../core/desired.ts";
import { messageOf } from "../core/errors.ts";
import type { GangTask } from "../core/gang.ts";
import { millis } from "../core/ids.ts";
import type { MeasuredMemory } from "../core/measured-memory.ts";
import type { ObservedReplica } from "../core/observed.ts";
import { assertNever } from "../core/result.ts";
import type { Engine, ExitReport } from "../engines/engine.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import type { LocalReplica } from "../reconcile/node.ts";
import { observe } from "../reconcile/observe.ts";
import { step } from "../reconcile/supervise.ts";
import {
  type AttemptEnd,
  type Effect,
  newSupervision,
  type ProcessRef,
  type Supervision,
  type SupervisorEvent,
  wakeAt,
} from "../reconcile/supervision.ts";
import { EngineLog } from "./engine-log.ts";
import { watchEngine, type WatchEvents } from "./engine-watch.ts";
import { hideKey } from "./hide-key.ts";
import { launch, type Launched, logPathOf, statusPathOf } from "./launch.ts";
import { livingProcesses, signalLaunch } from "./launch-processes.ts";
import { explainEnd, type MemoryKills, memoryKillsSoFar } from "./memory-kill.ts";
import { removeLaunchRecord, writeLaunchRecord } from "./launch-record.ts";
import { followMemory } from "./memory-watch.ts";
import type { NodeContext, Prepared } from "./node-context.ts";
import { Rank } from "./rank.ts";
import { tellChange } from "./replica-log.ts";
import { adoptedState, phaseOf, policyFor, watchPhase } from "./replica-rules.ts";

type ProcessRecord = LaunchRecord & { readonly process: ProcessRef };

interface Current {
  readonly record: ProcessRecord;
  readonly engine: Engine;
  /** Every pid that the launch is known to have had. */
  readonly pids: Set<number>;
  readonly killsBefore: Promise<MemoryKills>;
}

export interface ReplicaOptions {
  readonly node: NodeContext;
  /** Of this replica alone. */
  readonly folder: string;
  /** What must have ended before this replica touches the folder. */
  readonly after: Promise<void> | undefined;
}

/** How many launches there were, and why the last one ended. */
export type Past = Pick<Supervision, "launches" | "lastEnd">;

/** Runs the effects of one replica's supervision and gives back what became of them. Every change goes through `step`. */
export class Replica {
  readonly #node: NodeContext;
  readonly #folder: string;
  #desired: DesiredReplica;
  #supervision: Supervision;
  #engineLabel = "";
  #prepared: Prepared | undefined;
  /** Of the launch that is watched, once it was measured. */
  #memory: MeasuredMemory | undefined;
  /** The launch that is watched. */
  #current: Current | undefined;
  /** The disk would not take what is known of it; tried again, or the next agent has to prove the engine anew. */
  #isRecordBehind = false;
  readonly #log: EngineLog;
  /** Lets go of the preparation or the launch under way. */
  #work = new AbortController();
  readonly #watch = new AbortController();
  /** Of a replica that spans nodes. */
  readonly #rank: Rank | undefined;
  #cancelTick: () => void = () => undefined;
  /** What touches the disk or the process, one after the other. */
  #queue: Promise<void>;

  private constructor(desired: DesiredReplica, supervision: Supervision, options: ReplicaOptions) {
    this.#desired = desired;
    this.#supervision = supervision;
    this.#node = options.node;
    this.#folder = options.folder;
    this.#queue = options.after ?? Promise.resolve();
    this.#log = this.#openLog();
    const launched = supervision.state.kind !== "preparing";
    const { gang } = desired;
    this.#rank = gang === undefined ? undefined : this.#rankOf({ ...desired, gang }, launched);
  }

  /** `past` is what is known of the replica's earlier launches, when there were some. */
  static start(desired: DesiredReplica, options: ReplicaOptions, past: Past | undefined): Replica {
    const replica = new Replica(desired, { ...newSupervision, ...past }, options);
    replica.#run({ kind: "prepare" });
    // What the order is already it was before this agent was there to prepare for it.
    if (desired.gang !== undefined) replica.#rank?.ordered(desired.gang);
    return replica;
  }

  /** Takes over a process that is proven to be the record's, as it was when it was left. */
  static adopt(record: ProcessRecord, engine: Engine, options: ReplicaOptions): Replica {
    const state = adoptedState(record, options.node);
    const supervision = { state, failures: 0, launches: record.launches, lastEnd: "" };
    const replica = new Replica(record.replica, supervision, options);
    options.node.ports.keep(record.endpoint.port);
    replica.#begin({ record, engine, exited: undefined });
    replica.#scheduleTick();
    return replica;
  }

  get local(): LocalReplica {
    return { replica: this.#desired, phase: phaseOf(this.#supervision.state) };
  }

  get observed(): ObservedReplica {
    const now = this.#node.clock.monotonic();
    const { supervision } = this;
    const beside = { engine: this.#engineLabel, rank: this.#rank?.report, memory: this.#memory };
    return observe(this.#desired, { supervision, ...beside }, now);
  }

  get supervision(): Supervision {
    return this.#supervision;
  }

  get logPath(): string {
    return this.#log.path;
  }

  stop(): void {
    this.#dispatch({ kind: "stopRequested" });
  }

  /** The running engine stays; only how it is watched changes. */
  retune(desired: DesiredReplica): void {
    this.#desired = desired;
    this.#amendRecord({ replica: desired });
    if (desired.gang !== undefined) this.#rank?.ordered(desired.gang);
  }

  /** Leaves everything as it is: the engine serves on, and its record says all that the next agent needs. */
  async detach(): Promise<void> {
    this.#watch.abort();
    this.#work.abort();
    this.#cancelTick();
    this.#rank?.close();
    // A launch that is at its spawn comes to its end first, so that the record is whole.
    await this.#queue;
  }

  #dispatch(event: SupervisorEvent): void {
    if (this.#watch.signal.aborted) return;
    const before = this.#supervision;
    const { clock, random } = this.#node;
    const policy = policyFor(this.#desired, this.#node, this.#rank !== undefined);
    const { next, effects } = step(before, event, { now: clock.monotonic(), random, policy });
    this.#supervision = next;
    this.#rank?.moved(next.state, "end" in event ? event.end : undefined);
    if (next.state.kind === "waiting" && before.state.kind !== "waiting") this.#openRank();
    tellChange(this.#node.logger, this.#desired.id, { before, next, engine: this.#engineLabel });
    for (const effect of effects) this.#run(effect);
    this.#scheduleTick();
    this.#node.onChange(this.#desired.id);
  }

  #scheduleTick(): void {
    this.#cancelTick();
    const due = wakeAt(this.#supervision.state);
    if (due === undefined || this.#watch.signal.aborted) return;
    const { clock } = this.#node;
    this.#cancelTick = clock.after(millis(Math.max(0, due - clock.monotonic())), () => {
      this.#dispatch({ kind: "tick" });
    });
  }

  #run(effect: Effect): void {
    switch (effect.kind) {
      case "prepare":
        void this.#prepare();
        return;
      case "launch":
        this.#enqueue(() => this.#launch());
        return;
      case "abandon":
        this.#work.abort();
        return;
      case "signal":
        this.#enqueue(() => this.#signal(effect.signal));
        return;
      case "forget":
        this.#enqueue(() => this.#forget());
        return;
      default:
        assertNever(effect);
    }
  }

  #enqueue(work: () => Promise<void>): void {
    this.#queue = this.#queue.then(work).catch((error: unknown) => {
      this.#node.logger.error(`replica ${this.#desired.id}: ${messageOf(error)}`);
    });
  }

  async #prepare(): Promise<void> {
    this.#work = new AbortController();
    const { signal } = this.#work;
    const onProgress = (progress: Extract<SupervisorEvent, { kind: "progressed" }>["progress"]): void => {
      this.#dispatch({ kind: "progressed", progress });
    };
    const prepared = await this.#node.prepare(this.#desired, { onProgress, signal }).catch((error: unknown) => {
      return { ok: false, error: { reason: messageOf(error), retry: true } } as const;
    });
    if (!prepared.ok) {
      this.#dispatch({ kind: "prepareFailed", end: prepared.error });
      return;
    }
    this.#prepared = prepared.value;
    this.#engineLabel = `${prepared.value.engine.name} ${prepared.value.build.version}`;
    this.#dispatch({ kind: "prepared" });
  }

  #rankOf(desired: DesiredReplica & { readonly gang: GangTask }, launched: boolean): Rank {
    const events = {
      start: () => {
        this.#dispatch({ kind: "startOrdered" });
      },
      lost: (end: AttemptEnd) => {
        this.#dispatch({ kind: "partLost", end: withPast(end, this.#supervision.lastEnd) });
      },
      changed: () => {
        this.#node.onChange(desired.id);
      },
    };
    return new Rank(desired, { node: this.#node, events, launched });
  }

  #openRank(): void {
    const prepared = this.#prepared;
    if (prepared === undefined || this.#rank === undefined) return;
    this.#rank.opened(prepared).catch((error: unknown) => {
      this.#dispatch({ kind: "partLost", end: { reason: messageOf(error), retry: true } });
    });
  }

  async #launch(): Promise<void> {
    const prepared = this.#prepared;
    if (prepared === undefined) return;
    const order = {
      ...{ replica: this.#desired, prepared, folder: this.#folder },
      ...{ launchesBefore: this.#supervision.launches, signal: this.#work.signal, gang: this.#rank?.part() },
    };
    const launched = await launch(order, this.#node);
    if (!launched.ok) {
      this.#dispatch({ kind: "spawnFailed", end: launched.error });
      return;
    }
    const { process, endpoint } = launched.value.record;
    this.#begin({ ...launched.value, engine: prepared.engine });
    this.#dispatch({ kind: "spawned", process, endpoint });
  }

  #begin({
    record,
    engine,
    exited,
  }: Pick<Launched, "record"> & { engine: Engine; exited: Launched["exited"] | undefined }): void {
    const pids = new Set([record.process.pid]);
    this.#isRecordBehind = false;
    this.#current = { record, engine, pids, killsBefore: memoryKillsSoFar(record.cgroups, this.#node.machine) };
    this.#log.keepSmall();
    this.#engineLabel = `${record.engine.name} ${record.engine.version}`;
    const events: WatchEvents = {
      gone: (exit, leftovers) => {
        this.#enqueue(() => this.#onGone(exit, leftovers));
      },
      notYet: (note) => {
        this.#dispatch({ kind: "notYet", note });
      },
      proven: (capacity) => {
        this.#amendRecord({ capacity });
        this.#dispatch({ kind: "proven", capacity });
      },
      health: (answered) => {
        if (this.#isRecordBehind) this.#amendRecord({});
        this.#dispatch({ kind: answered ? "answered" : "unanswered" });
      },
      hung: (reason) => {
        this.#dispatch({ kind: "hung", reason });
      },
      stillHeld: (holders) => {
        this.#dispatch({ kind: "stillHeld", note: `GPU memory still held by pid ${holders.join(", ")}` });
      },
    };
    const phase = () => watchPhase(this.#supervision.state);
    const { clock, machine, healthInterval: interval, hangPolicy } = this.#node;
    const { gpus } = record.replica;
    const gpuHolders = (seen: ReadonlySet<number>) =>
      gpus.length === 0 ? Promise.resolve([]) : this.#node.gpuHolders(gpus, seen);
    const target = { record, engine, machine, exited, phase, pids, statusPath: statusPathOf(this.#folder) };
    void watchEngine(target, events, { clock, interval, hangPolicy, gpuHolders, signal: this.#watch.signal });
    this.#followMemory(record);
  }

  #followMemory(record: ProcessRecord): void {
    this.#memory = undefined;
    const { measure, clock } = this.#node;
    if (measure === undefined) return;
    const target = {
      isReady: () => this.#supervision.state.kind === "ready",
      isOver: () => this.#current?.record.launchId !== record.launchId,
      measure: async () => {
        const living = await livingProcesses(record, this.#node.machine);
        return measure(
          living.map(({ pid }) => pid),
          record.replica.gpus,
        );
      },
    };
    const onNews = (memory: MeasuredMemory): void => {
      this.#memory = memory;
      this.#node.onChange(this.#desired.id);
    };
    void followMemory(target, onNews, { clock, signal: this.#watch.signal });
  }

  #openLog(): EngineLog {
    return new EngineLog(logPathOf(this.#folder), {
      node: this.#node,
      signal: this.#watch.signal,
      onCut: () => {
        this.#amendRecord({ logOffset: 0 });
      },
      onFailure: (error) => {
        const { id } = this.#desired;
        this.#node.logger.error(`replica ${id}: its log cannot be kept from growing: ${messageOf(error)}`);
      },
    });
  }

  async #onGone(exit: ExitReport, leftovers: boolean): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    const { record, engine, killsBefore } = current;
    const { machine } = this.#node;
    const at = await machine.exitedAt(statusPathOf(this.#folder));
    if (at !== undefined) this.#rank?.endedAt(at);
    // That it ended is to be told also where its log cannot be read.
    const lastLines = await this.#lastLines(record).catch((error: unknown) => [messageOf(error)]);
    const kills = { before: await killsBefore, after: await memoryKillsSoFar(record.cgroups, machine) };
    const end = explainEnd(exit, kills) ?? engine.explainExit(exit, lastLines, await machine.cpuFlags());
    this.#dispatch({ kind: "exited", end, lastLines, leftovers });
  }

  async #lastLines({ logOffset }: LaunchRecord): Promise<readonly string[]> {
    return this.hideKey(await this.#log.lastLines(this.#node.logLines, logOffset));
  }

  /** Lines of its log, as others may see them. */
  hideKey(lines: readonly string[]): readonly string[] {
    return hideKey(lines, this.#desired.apiKey);
  }

  async #signal(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (this.#current === undefined) return;
    const { record, pids } = this.#current;
    for (const { pid } of await signalLaunch(record, signal, this.#node.machine)) pids.add(pid);
  }

  async #forget(): Promise<void> {
    const { ports, machine } = this.#node;
    if (this.#current !== undefined) {
      const { endpoint, cgroups } = this.#current.record;
      ports.release(endpoint.port);
      await machine.removeCgroup(cgroups);
    }
    this.#current = undefined;
    await removeLaunchRecord(this.#folder, machine);
  }

  #amendRecord(change: Partial<Pick<LaunchRecord, "replica" | "capacity" | "logOffset">>): void {
    this.#enqueue(async () => {
      if (this.#current === undefined) return;
      const record = { ...this.#current.record, ...change };
      this.#current = { ...this.#current, record };
      const wasBehind = this.#isRecordBehind;
      this.#isRecordBehind = true;
      try {
        await writeLaunchRecord(this.#folder, record, this.#node.machine);
        this.#isRecordBehind = false;
      } catch (error) {
        // Said once.
        if (!wasBehind) throw error;
      }
    });
  }
}

/** How an engine ended while no agent was there is worth more than that none was there. */
const withPast = (end: AttemptEnd, lastEnd: string): AttemptEnd => (lastEnd === "" ? end : { ...end, reason: lastEnd });
