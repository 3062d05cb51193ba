import type { Logger } from "../../src/platform/logger.ts";
import type { ProcessStat } from "../../src/platform/proc.ts";
import type { Dice } from "./dice.ts";
import { type SimClock, type WallClock, wallTime } from "./sim-clock.ts";
import { type Ending, engineOfCommand, type SimProcess } from "./sim-process.ts";

/** What a host tells of its processes. */
export interface HostEvents {
  started(host: SimHost, process: SimProcess): void;
  /** The engine of a process is no more. */
  ended(host: SimHost, process: SimProcess, ending: Ending): void;
  /** A signal is about to reach it. */
  signalled(host: SimHost, process: SimProcess, signal: "SIGTERM" | "SIGKILL"): void;
  /** The process may be one rank of several: whether all of them are there. */
  areAllThere(place: string, ranks: number): boolean;
}

export interface Spawn {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly statusPath: string;
}

interface Keeping {
  readonly keeper: SimProcess;
  readonly engine: SimProcess;
  readonly spawn: Spawn;
  readonly exited: PromiseWithResolvers<undefined>;
}

const REPLICA_MARK = "LLMGW_REPLICA";
/** How long an engine takes to end when it is asked to, ms. */
const POLITE_END = [50, 600] as const;

/** A machine of the simulated cluster: its processes, its disk and its ports. It outlives its agents. */
export class SimHost {
  readonly id: string;
  readonly address: string;
  readonly logger: Logger;
  readonly wall: WallClock = { offset: 0 };
  readonly disk = new Map<string, string>();
  readonly logs = new Map<string, string[]>();
  readonly writtenAt = new Map<string, number>();
  /** By port. */
  readonly meetings = new Map<number, (line: string) => string | undefined>();
  readonly processes = new Map<number, SimProcess>();
  bootId = "boot-1";
  isDiskFull = false;
  /** Everything takes so many times as long. */
  slowness = 1;
  /** So many engines end right after their start. */
  badStarts = 0;
  /** Called in the middle of the next thing that its agent does to it. */
  tripwire: (() => void) | undefined;
  /** No engine is sent work from here any more: nothing on its network comes through. */
  isCutOff = false;
  readonly #clock: SimClock;
  readonly #dice: Dice;
  readonly #events: HostEvents;
  readonly #kept = new Map<number, Keeping>();
  #lastPid = 1000;
  #boots = 1;

  constructor(
    { id, address, logger }: Pick<SimHost, "id" | "address" | "logger">,
    { clock, dice, events }: { readonly clock: SimClock; readonly dice: Dice; readonly events: HostEvents },
  ) {
    this.id = id;
    this.address = address;
    this.logger = logger;
    this.#clock = clock;
    this.#dice = dice;
    this.#events = events;
  }

  /** Of this machine now, in milliseconds: what a small thing takes. */
  get lag(): number {
    return this.slowness === 1 ? 0 : this.#dice.between(10, 60) * this.slowness;
  }

  engines(): readonly SimProcess[] {
    return [...this.processes.values()].filter(({ engine }) => engine !== undefined);
  }

  /** The engine that listens on the port. */
  listener(port: number): SimProcess | undefined {
    return this.engines().find(({ engine }) => engine?.port === port);
  }

  spawn(spawn: Spawn): Keeping {
    const keeper = this.#process(spawn, { parent: 1, group: undefined, isEngine: false });
    const engine = this.#process(spawn, { parent: keeper.stat.pid, group: keeper.stat.pid, isEngine: true });
    const keeping = { keeper, engine, spawn, exited: Promise.withResolvers<undefined>() };
    this.#kept.set(keeper.stat.pid, keeping);
    this.#write(spawn, "the engine starts");
    this.#events.started(this, engine);
    this.#load(engine);
    return keeping;
  }

  /** Ends an engine; its keeper writes down how, unless it was ended with it. */
  end(process: SimProcess, ending: Ending, status: number): void {
    if (!this.processes.delete(process.stat.pid)) return;
    const keeping = [...this.#kept.values()].find(({ engine }) => engine === process);
    this.#events.ended(this, process, ending);
    if (keeping === undefined || !this.processes.has(keeping.keeper.stat.pid)) return;
    this.#write(keeping.spawn, `the engine ends: ${ending.by === "fault" ? ending.what : ending.signal}`);
    this.#clock.after(this.#dice.between(1, 8), () => {
      // A machine that was started again in between has no such keeper any more.
      if (!this.processes.delete(keeping.keeper.stat.pid)) return;
      this.disk.set(keeping.spawn.statusPath, `${String(status)}\n`);
      this.writtenAt.set(keeping.spawn.statusPath, wallTime(this.#clock, this.wall));
      this.#kept.delete(keeping.keeper.stat.pid);
      keeping.exited.resolve(undefined);
    });
  }

  /** To the process, or to the group that it leads. False: there is nobody to get it. */
  signal(pid: number, signal: "SIGTERM" | "SIGKILL", isGroup: boolean): boolean {
    const meant = [...this.processes.values()].filter(({ stat }) => (isGroup ? stat.group : stat.pid) === pid);
    for (const process of meant) this.#signalOne(process, signal);
    return meant.length > 0;
  }

  /** The power goes off and on. */
  reboot(): void {
    const all = this.engines();
    for (const pid of [...this.processes.keys()]) if (this.#kept.has(pid)) this.processes.delete(pid);
    for (const process of all) this.end(process, { by: "fault", what: "the machine was started again" }, 0);
    this.processes.clear();
    this.#kept.clear();
    this.meetings.clear();
    this.#boots += 1;
    this.bootId = `boot-${String(this.#boots)}`;
    // The same numbers are given again.
    this.#lastPid = 1000;
  }

  #signalOne(process: SimProcess, signal: "SIGTERM" | "SIGKILL"): void {
    const { engine, stat } = process;
    if (engine === undefined) {
      // Keepers take no notice of anything gentler.
      if (signal === "SIGKILL") this.#loseKeeper(stat.pid);
      return;
    }
    this.#events.signalled(this, process, signal);
    if (signal === "SIGKILL") {
      this.end(process, { by: "agent", signal }, 128 + 9);
      return;
    }
    if (engine.health === "hung") return;
    this.#clock.after(this.#dice.between(...POLITE_END) * this.slowness, () => {
      this.end(process, { by: "agent", signal }, 0);
    });
  }

  #loseKeeper(pid: number): void {
    this.processes.delete(pid);
    this.#kept.get(pid)?.exited.resolve(undefined);
    this.#kept.delete(pid);
  }

  #process(
    spawn: Spawn,
    { parent, group, isEngine }: { parent: number; group: number | undefined; isEngine: boolean },
  ) {
    this.#lastPid += 1;
    const pid = this.#lastPid;
    const stat: ProcessStat = {
      ...{ pid, state: "S", parent, group: group ?? pid, session: group ?? pid, threads: 1 },
      startTicks: Math.floor(this.#clock.now / 10) + 1,
    };
    const { argv, env } = spawn;
    const mark = env[REPLICA_MARK] ?? "";
    const process: SimProcess = {
      ...{ stat, argv, env, startedAt: this.#clock.now },
      replica: mark.slice(mark.indexOf("#") + 1),
      engine: isEngine ? engineOfCommand(argv, env) : undefined,
    };
    this.processes.set(pid, process);
    return process;
  }

  #load(process: SimProcess): void {
    const isBad = this.badStarts > 0 || process.argv.includes("--no-such-flag");
    if (isBad) {
      this.badStarts = Math.max(0, this.badStarts - 1);
      this.#clock.after(this.#dice.between(100, 900), () => {
        this.end(process, { by: "fault", what: "it ended right after its start" }, 1);
      });
      return;
    }
    this.#clock.after(this.#dice.between(500, 5000) * this.slowness, () => {
      this.#loaded(process);
    });
  }

  /** A rank is only loaded when all are there. */
  #loaded(process: SimProcess): void {
    const { engine } = process;
    if (engine?.health !== "loading" || this.processes.get(process.stat.pid) !== process) return;
    const { meeting } = engine;
    if (meeting === undefined || this.#events.areAllThere(meeting.place, meeting.ranks)) {
      engine.health = "ready";
      return;
    }
    this.#clock.after(250, () => {
      this.#loaded(process);
    });
  }

  #write({ logPath }: Spawn, line: string): void {
    const lines = this.logs.get(logPath) ?? [];
    lines.push(line);
    this.logs.set(logPath, lines);
  }
}
