import type { Snapshot } from "../../src/store/store.ts";
import { doubleBookings, wrongPlaces } from "./check-given.ts";
import { doubleRuns, doubleUses } from "./check-running.ts";
import type { Breach, Violation } from "./rules.ts";
import type { SimHost } from "./sim-host.ts";
import type { Ending, SimProcess } from "./sim-process.ts";
import type { RoutedStream } from "./sim-router.ts";
import type { Noted, World } from "./world.ts";

/** A control plane that hears has noticed a silence of so long, ms. */
const NOTICED = 20_000;
/** Events of a replica after which its engine may be ended, and should be. */
const CAUSES: readonly string[] = [
  ...["ReplicaDraining", "ReplicaStopping", "ReplicaStopped", "ReplicaLost", "ReplicaFailed", "GangAttemptEnded"],
];
/** Events that no operator has ordered. */
const UNPLANNED: readonly string[] = ["ReplicaLost", "ReplicaFailed", "GangAttemptEnded"];
/** How a replica is said to go that nobody could wait for. */
const LEFT = /its nodes? [^;]* (is|are) lost/;

/** Looks at everything, after every step. */
export class Checks {
  readonly violations: Violation[] = [];
  readonly #world: World;
  #seen: Snapshot | undefined;
  readonly #silentSince = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    world.watch({
      signalled: (host, process) => {
        this.#onSignal(host, process);
      },
      cut: (stream, process, ending) => {
        this.#onCut(stream, process, ending);
      },
      noted: (event) => {
        this.#onEvent(event);
      },
    });
  }

  /** Cheap as long as nothing has happened. */
  look(): void {
    const world = this.#world;
    this.#listen();
    const snapshot = world.plane.running?.loop.snapshot;
    if (!world.isTouched && snapshot === this.#seen) return;
    world.isTouched = false;
    const hosts = world.nodes.map(({ host }) => host);
    const given = snapshot === undefined || snapshot === this.#seen ? [] : this.#given(snapshot);
    for (const breach of [...doubleUses(hosts), ...doubleRuns(hosts), ...given]) this.fail(breach);
    this.#seen = snapshot ?? this.#seen;
  }

  fail({ rule, what }: Breach): void {
    this.violations.push({ rule, at: this.#world.clock.now, what });
    this.#world.trace.add(`VIOLATION ${rule}: ${what}`);
  }

  #given(snapshot: Snapshot): readonly Breach[] {
    const formOf = (id: string) => this.#world.nodes.find(({ form }) => form.id === id)?.form;
    return [...doubleBookings(snapshot), ...wrongPlaces(this.#seen, snapshot, formOf)];
  }

  /** Since when which node says nothing. */
  #listen(): void {
    const { nodes, network, clock } = this.#world;
    for (const { host, agent } of nodes) {
      const isSilent = network.weatherOf(host.id).isCut || agent?.life.isOver() !== false;
      if (!isSilent) this.#silentSince.delete(host.id);
      else if (!this.#silentSince.has(host.id)) this.#silentSince.set(host.id, clock.now);
    }
  }

  #onSignal(host: SimHost, { engine, replica }: SimProcess): void {
    if (engine?.health !== "ready" || !engine.hasWorked) return;
    const said = this.#world.events.get(replica) ?? [];
    const readyAt = said.findLastIndex(({ reason }) => reason === "ReplicaReady");
    if (said.findLastIndex(({ reason }) => CAUSES.includes(reason)) > readyAt) return;
    const what = `${replica} on ${host.id} is ended; last: ${lastWords(said)}`;
    this.fail({ rule: "no healthy engine is stopped without a cause", what });
  }

  #onCut(stream: RoutedStream, { engine, replica, startedAt }: SimProcess, ending: Ending): void {
    if (ending.by === "fault" || engine?.health !== "ready") return;
    const said = this.#world.events.get(replica) ?? [];
    // A router has sent it where nobody has sent it to: to what came after a crash, by a table of before it.
    if (!said.some(({ at, reason }) => reason === "ReplicaReady" && at >= startedAt)) return;
    if (this.#isUnplanned(said, stream)) return;
    // Without its other ranks it could not have gone on.
    if (this.#world.brokenMeetings.has(engine.meeting?.place ?? "")) return;
    const age = ((this.#world.clock.now - stream.since) / 1000).toFixed(1);
    const what = `a stream of ${age} s by ${stream.router.id} on ${replica} was cut; last: ${lastWords(said)}`;
    this.fail({ rule: "no planned change cuts a stream", what });
  }

  #isUnplanned(said: readonly Noted[], { since, router }: RoutedStream): boolean {
    const drainedAt = said.findLast(({ reason }) => reason === "ReplicaDraining")?.at ?? this.#world.clock.now;
    // A router that was out of touch meanwhile may have sent it where nothing should be sent any more.
    if (router.steadySince >= drainedAt) return true;
    return said.some(({ at, reason, message }) => at >= since && (UNPLANNED.includes(reason) || LEFT.test(message)));
  }

  #onEvent({ reason, subject }: Noted): void {
    if (reason !== "NodeLost") return;
    const { clock } = this.#world;
    const known = this.#seen?.nodes.filter(({ liveness }) => liveness !== "lost") ?? [];
    const silent = known.filter(({ id }) => clock.now - (this.#silentSince.get(id) ?? Infinity) > NOTICED);
    if (silent.length <= known.length / 2) return;
    const what = `${subject} is given up, while ${String(silent.length)} of ${String(known.length)} are silent`;
    this.fail({ rule: "no node is given up while most are silent", what });
  }
}

const lastWords = (said: readonly Noted[]): string => said.at(-1)?.message ?? "nothing was ever said of it";
