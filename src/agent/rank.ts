import type { DesiredReplica } from "../core/desired.ts";
import { messageOf } from "../core/errors.ts";
import type { GangPart } from "../core/gang-part.ts";
import type { GangTask, PeerFinding, RankPreparation, RankReport } from "../core/gang.ts";
import type { Millis, ReplicaId } from "../core/ids.ts";
import { exactHcas, exactInterface } from "../engines/nccl-network.ts";
import type { Meeting } from "../platform/meeting.ts";
import type { AttemptEnd, SupervisedState } from "../reconcile/supervision.ts";
import { speak, understand } from "./gang-words.ts";
import type { NodeContext, Prepared } from "./node-context.ts";
import { checkPeers } from "./rank-check.ts";

interface RankEvents {
  /** All ranks may start, and this one is ready for it. */
  readonly start: () => void;
  /** It cannot take part in this attempt. */
  readonly lost: (end: AttemptEnd) => void;
  /** There is something new to report. */
  readonly changed: () => void;
}

/**
 * One attempt of a rank, beside its process: the port on which the ranks meet, the check of the ways between them, and what
 * is reported of both. It starts nothing that it did not check: an agent that was away in between does not know whether this
 * attempt has been started before.
 */
export class Rank {
  readonly #id: ReplicaId;
  readonly #node: NodeContext;
  readonly #events: RankEvents;
  readonly #closing = new AbortController();
  #task: GangTask;
  #prepared: RankPreparation | undefined;
  #findings: readonly PeerFinding[] | undefined;
  #meeting: Meeting | undefined;
  #port: number | undefined;
  #isChecking = false;
  #launched: boolean;
  #end: Ended | undefined;

  /** `launched`: its engine was found running, and is taken over. */
  constructor(
    { id, gang }: DesiredReplica & { readonly gang: GangTask },
    { node, events, launched }: { readonly node: NodeContext; readonly events: RankEvents; readonly launched: boolean },
  ) {
    this.#id = id;
    this.#task = gang;
    this.#node = node;
    this.#events = events;
    this.#launched = launched;
    const own = gang.members[gang.rank]?.port;
    if (own !== undefined) this.#keep(own);
  }

  get report(): RankReport {
    const { rank, attempt } = this.#task;
    return {
      ...{ rank, attempt, prepared: this.#prepared, findings: this.#findings, launched: this.#launched },
      ...{ endedAt: this.#end?.at, retry: this.#end?.retry ?? true },
      blamesOthers: this.#end?.blamesOthers ?? false,
    };
  }

  /** Engine and weights are there. */
  async opened(prepared: Prepared): Promise<void> {
    const { machine } = this.#node;
    const address = this.#node.address() ?? "";
    const host = address.includes(":") ? "::" : "0.0.0.0";
    const port = this.#port ?? (await this.#node.ports.take(host));
    if (this.#isClosed()) {
      if (port !== undefined) this.#node.ports.release(port);
      return;
    }
    if (port === undefined) {
      this.#lose("every port of engine_ports is taken; give it a wider range");
      return;
    }
    this.#keep(port);
    const [model, meeting] = await Promise.all([
      machine.identifyModel(prepared),
      machine.openMeeting({ host, port }, (line) => this.#answer(line)),
    ]);
    if (this.#isClosed()) {
      if (meeting.ok) await meeting.value.close();
      return;
    }
    if (!meeting.ok) {
      this.#lose(`port ${String(port)}, where the ranks are to meet, cannot be had: ${meeting.error}`);
      return;
    }
    this.#meeting = meeting.value;
    const engine = `${prepared.engine.name} ${prepared.build.version}`;
    this.#prepared = { engine, ...model, address, port };
    this.#events.changed();
    this.ordered(this.#task);
  }

  /** What the control plane wants now, within the same attempt. */
  ordered(task: GangTask): void {
    this.#task = task;
    if (this.#launched || this.#end !== undefined) return;
    if (task.order === "check" && this.#prepared !== undefined) void this.#check();
    if (task.order !== "run") return;
    if (this.#findings === undefined) {
      this.#lose("its node's agent was started again before the ranks were, and cannot know what became of this start");
    } else void this.#start();
  }

  /** What the engine is told of its part; what cannot be told is the error, in words. */
  part(): GangPart {
    const { rank, ranks, members, fabric } = this.#task;
    const [head, own] = [members[0], members[rank]];
    const ownAddress = own?.address ?? "";
    return {
      ...{ rank, ranks, masterHost: head?.address ?? "", masterPort: head?.port ?? 0, ownAddress },
      ownInterface: exactInterface(ownAddress, this.#node.interfaces()),
      hcas: exactHcas(this.#node.fabricPorts(fabric)),
    };
  }

  /** Its process ended at that time: earlier than anybody noticed. */
  endedAt(at: Millis): void {
    this.#end ??= { at, retry: true };
  }

  /** Follows what becomes of the process. */
  moved(state: SupervisedState, end: AttemptEnd | undefined): void {
    if (state.kind === "starting") this.#launched = true;
    if (hasEnded(state)) this.#end = endAfter(this.#end, end, this.#node.clock.now());
  }

  /** Lets go of the port. The rank is over, or its agent leaves. */
  close(): void {
    this.#closing.abort();
    void this.#meeting?.close();
    this.#meeting = undefined;
    if (this.#port !== undefined) this.#node.ports.release(this.#port);
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #keep(port: number): void {
    this.#port = port;
    this.#node.ports.keep(port);
  }

  #lose(reason: string): void {
    this.#events.lost({ reason, retry: true });
  }

  #answer(line: string): string | undefined {
    const { rank, attempt } = this.#task;
    const words = understand(line);
    if (words?.replica !== this.#id || words.attempt !== attempt) return undefined;
    return speak({ replica: this.#id, attempt, rank, now: this.#node.clock.now() });
  }

  async #check(): Promise<void> {
    if (this.#isChecking || this.#findings !== undefined) return;
    this.#isChecking = true;
    const { rank, attempt, members, fabric } = this.#task;
    const { clock, machine } = this.#node;
    const order = { replica: this.#id, attempt, rank, members, clock, machine, signal: this.#closing.signal };
    const findings = await checkPeers(order);
    if (this.#isClosed()) return;
    // Without one the ranks would find some other way to each other, or none.
    const isOnFabric = exactHcas(this.#node.fabricPorts(fabric)) !== undefined;
    const none = `no port of fabric ${fabric} is active here`;
    this.#findings = isOnFabric ? findings : findings.map((one) => ({ ...one, problem: none }));
    this.#events.changed();
  }

  /** The port is the engine's from now on. */
  async #start(): Promise<void> {
    const meeting = this.#meeting;
    this.#meeting = undefined;
    await meeting?.close().catch((error: unknown) => {
      this.#node.logger.warn(`replica ${this.#id}: its meeting port was not closed: ${messageOf(error)}`);
    });
    if (!this.#isClosed()) this.#events.start();
  }
}

const hasEnded = (state: SupervisedState): boolean =>
  state.kind === "failed" || (state.kind === "stopping" && state.outcome.kind === "failure");

interface Ended {
  readonly at: Millis;
  readonly retry: boolean;
  /** Undefined: why it ended is not known yet. */
  readonly blamesOthers?: boolean;
}

const endAfter = (before: Ended | undefined, end: AttemptEnd | undefined, now: Millis): Ended => ({
  at: before?.at ?? now,
  retry: end?.retry ?? before?.retry ?? true,
  blamesOthers: blamesOthers(before, end),
});

/** Of a process that was ended for a reason of its own, the last words count for nothing. */
const blamesOthers = (before: Ended | undefined, end: AttemptEnd | undefined): boolean =>
  before?.blamesOthers ?? end?.blamesOthers ?? false;
