import type { DesiredReplica, DesiredState } from "../core/desired.ts";
import { messageOf } from "../core/errors.ts";
import { formatAge } from "../core/format.ts";
import type { ReplicaId } from "../core/ids.ts";
import type { ObservedReplica, ObservedState } from "../core/observed.ts";
import { assertNever } from "../core/result.ts";
import { pause } from "../platform/clock.ts";
import type { LaunchRecord, Wanted } from "../reconcile/adopt.ts";
import { type LocalReplica, type NodeAction, reconcileNode } from "../reconcile/node.ts";
import type { Supervision } from "../reconcile/supervision.ts";
import { endLeftovers, explainPast, judgeRecord } from "./adoption.ts";
import { readLaunchRecords, removeLaunchRecord, replicaFolder } from "./launch-record.ts";
import type { NodeContext } from "./node-context.ts";
import { type Defaulted, nodeDefaults } from "./node-defaults.ts";
import { type Past, Replica } from "./replica.ts";

/** A launch of which it is not known whether it still runs: it is neither touched nor started again. */
interface Held {
  readonly record: LaunchRecord;
  readonly why: string;
}

/** Everything that a node runs. It changes by what was left on the machine, by the desired state, and by nothing else. */
export class Replicas {
  readonly #node: NodeContext;
  readonly #replicas = new Map<ReplicaId, Replica>();
  readonly #held = new Map<ReplicaId, Held>();
  /** The last steps of replicas that are gone; a new one of the same id begins after them. */
  readonly #leaving = new Map<ReplicaId, Promise<void>>();
  /** Of launches that ended while no agent was there to see it. */
  readonly #past = new Map<ReplicaId, Past>();
  /** What has stopped, as the control plane is told until it wants something new. */
  #stopped: readonly ObservedReplica[] = [];
  #desired: DesiredState | undefined;
  readonly #closing = new AbortController();
  #settling = false;
  #isStopping = false;

  constructor(
    node: Omit<NodeContext, "onChange" | Defaulted> & Partial<Pick<NodeContext, Defaulted>>,
    onChange: () => void,
  ) {
    this.#node = {
      ...nodeDefaults(),
      ...node,
      onChange: () => {
        this.#settle();
        onChange();
      },
    };
  }

  /** Takes over what an earlier agent left running. To be called once, before anything else. */
  async adopt(): Promise<void> {
    const records = await readLaunchRecords(this.#node.workDir, this.#node);
    await Promise.all(records.map((record) => this.#judge(record).catch(this.#complain(record.replica.id))));
    void this.#lookAgainAtHeld();
    const { cgroupHomes, clock, machine } = this.#node;
    void machine.sweepCgroups(await cgroupHomes(), clock.now() - SWEPT_AFTER);
  }

  /** The whole of what is wanted. What is in it and runs already is left alone. */
  apply(desired: DesiredState): void {
    if (this.#isStopping || this.#closing.signal.aborted) return;
    if (desired.revision !== this.#desired?.revision) this.#stopped = [];
    this.#desired = desired;
    this.#settle();
  }

  get observed(): ObservedState {
    const present = [...this.#replicas.values()].map((replica) => replica.observed);
    const held = [...this.#held.values()].map(observedHeld);
    const known = new Set([...this.#replicas.keys(), ...this.#held.keys()]);
    const stopped = this.#stopped.filter(({ id }) => !known.has(id));
    return { revision: this.#desired?.revision ?? 0, replicas: [...present, ...held, ...stopped] };
  }

  get supervisions(): readonly Supervision[] {
    return [...this.#replicas.values()].map(({ supervision }) => supervision);
  }

  /** Where the output of the replica's engine is; undefined when there is no such replica here. */
  logPathOf(id: ReplicaId): string | undefined {
    return this.#replicas.get(id)?.logPath;
  }

  /** Lines of that log, as others may see them. */
  hideKey(id: ReplicaId, lines: readonly string[]): readonly string[] {
    return this.#replicas.get(id)?.hideKey(lines) ?? lines;
  }

  /** Leaves the engines serving. */
  async detach(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#replicas.values()].map((replica) => replica.detach()));
    await Promise.all(this.#leaving.values());
  }

  /** Stops every engine and waits until each is proven gone. */
  async stopAll(): Promise<void> {
    this.#isStopping = true;
    const none = { revision: 0, engines: {}, weightsConcurrency: 0 };
    this.#desired = { ...none, ...this.#desired, replicas: [] };
    this.#settle();
    while (this.#replicas.size > 0) await new Promise<void>((resolve) => (this.#onSettled = resolve));
    await this.detach();
  }

  #onSettled: () => void = () => undefined;

  /** Runs pass after pass until there is nothing left to do now. */
  #settle(): void {
    // A start or a stop changes a replica at once, which asks for another pass while this one is under way.
    if (this.#settling || this.#desired === undefined || this.#closing.signal.aborted) return;
    this.#settling = true;
    for (let actions = this.#pass(); actions.length > 0; actions = this.#pass()) {
      for (const action of actions) this.#act(action);
    }
    this.#settling = false;
    this.#onSettled();
  }

  #pass(): readonly NodeAction[] {
    const active = [...this.#replicas.values()].map(({ local }) => local);
    const held = [...this.#held.values()].map(({ record }): LocalReplica => ({
      replica: record.replica,
      phase: "held",
    }));
    return reconcileNode(this.#desired?.replicas ?? [], [...active, ...held]);
  }

  #act(action: NodeAction): void {
    switch (action.kind) {
      case "start":
        this.#start(action.replica);
        return;
      case "stop":
        this.#node.logger.info(`replica ${action.id} is ${action.why}`);
        this.#replicas.get(action.id)?.stop();
        return;
      case "forget":
        this.#forget(action.id);
        return;
      case "retune":
        this.#replicas.get(action.replica.id)?.retune(action.replica);
        return;
      default:
        assertNever(action);
    }
  }

  #start(desired: DesiredReplica): void {
    const { id } = desired;
    const folder = replicaFolder(this.#node.workDir, id);
    const options = { node: this.#node, folder, after: this.#leaving.get(id) };
    this.#replicas.set(id, Replica.start(desired, options, this.#past.get(id)));
    this.#past.delete(id);
  }

  #forget(id: ReplicaId): void {
    const replica = this.#replicas.get(id);
    if (replica === undefined) return;
    this.#stopped = [...this.#stopped.filter((stopped) => stopped.id !== id), replica.observed].slice(-MOST_STOPPED);
    this.#replicas.delete(id);
    const isWanted = this.#desired?.replicas.some((wanted) => wanted.id === id) ?? false;
    const leaving = replica
      .detach()
      .then(async () => {
        if (!isWanted) await this.#node.machine.remove(replicaFolder(this.#node.workDir, id));
      })
      .catch(this.#complain(id))
      .finally(() => {
        if (this.#leaving.get(id) === leaving) this.#leaving.delete(id);
      });
    this.#leaving.set(id, leaving);
  }

  readonly #complain =
    (id: ReplicaId) =>
    (error: unknown): void => {
      this.#node.logger.error(`replica ${id}: ${messageOf(error)}`);
    };

  async #judge(found: LaunchRecord): Promise<void> {
    const { id } = found.replica;
    const folder = replicaFolder(this.#node.workDir, id);
    const { decision, record } = await judgeRecord(found, this.#wantedOf(id), this.#node);
    const engine = this.#node.engineOf(record.engine.name);
    if (decision.kind === "forget") {
      this.#node.logger.info(`replica ${id} is not taken over: ${decision.why}`);
      await endLeftovers(record, this.#node);
      const how = await explainPast(record, { folder, engine, machine: this.#node.machine });
      await removeLaunchRecord(folder, this.#node.machine);
      const lastEnd = `while no agent was there, ${decision.why}: ${how}`;
      this.#past.set(id, { launches: record.launches, lastEnd });
      this.#held.delete(id);
      return;
    }
    if (decision.kind === "wait" || engine === undefined) {
      const why = decision.kind === "wait" ? decision.why : `this version knows no engine ${record.engine.name}`;
      if (!this.#held.has(id)) this.#node.logger.warn(`replica ${id} is left as it is: ${why}`);
      this.#node.ports.keep(record.endpoint.port);
      this.#held.set(id, { record, why });
      return;
    }
    const { process } = decision;
    this.#held.delete(id);
    this.#replicas.set(
      id,
      Replica.adopt({ ...record, process }, engine, { node: this.#node, folder, after: undefined }),
    );
    const age = formatAge(this.#node.clock.now() - record.startedAt);
    this.#node.logger.info(`replica ${id}: adopted the engine that runs for ${age}, pid ${String(process.pid)}`);
  }

  #wantedOf(id: ReplicaId): Wanted {
    if (this.#desired === undefined) return { kind: "notAskedYet" };
    const wanted = this.#desired.replicas.find((replica) => replica.id === id);
    return wanted === undefined ? { kind: "no" } : { kind: "yes", ...wanted };
  }

  async #lookAgainAtHeld(): Promise<void> {
    const { clock, healthInterval } = this.#node;
    while (this.#held.size > 0) {
      await pause(clock, healthInterval, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      await Promise.all(
        [...this.#held.values()].map(({ record }) => this.#judge(record).catch(this.#complain(record.replica.id))),
      );
      this.#settle();
    }
  }
}

/** Another agent of this machine may be about to put its engine into a group; that takes a moment. */
const SWEPT_AFTER = 60_000;

/** How many of them the control plane is told of at most. */
const MOST_STOPPED = 100;

const observedHeld = ({ record, why }: Held): ObservedReplica => ({
  id: record.replica.id,
  profile: record.replica.profile,
  specHash: record.replica.specHash,
  state: { kind: "starting", note: `whether it still runs is not known: ${why}` },
  restarts: Math.max(0, record.launches - 1),
  pid: record.process?.pid,
});
