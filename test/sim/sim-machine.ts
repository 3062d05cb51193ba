import type { Machine } from "../../src/agent/machine.ts";
import type { Prepared } from "../../src/agent/node-context.ts";
import { fingerprint } from "../../src/core/fingerprint.ts";
import { millis } from "../../src/core/ids.ts";
import { err, ok, type Result } from "../../src/core/result.ts";
import type { Dice } from "./dice.ts";
import { type Lifetime, never, type SimClock } from "./sim-clock.ts";
import type { SimHost } from "./sim-host.ts";
import { answerOf, type SimProcess } from "./sim-process.ts";

interface Surroundings {
  readonly clock: SimClock;
  readonly dice: Dice;
  /** The host that has the address, if it can be reached from there. */
  readonly reach: (from: SimHost, address: string) => SimHost | undefined;
}

class NoSpace extends Error {
  readonly code = "ENOSPC";
}

/** The host as one agent sees it: with the agent's life ends every answer. */
export function machineOf(host: SimHost, life: Lifetime, around: Surroundings): Machine {
  const { clock, dice } = around;
  /** What the machine answers, after what it takes; nothing to somebody who is gone. */
  const reply = async <T>(work: () => T): Promise<T> => {
    if (host.lag > 0) await clock.passed(host.lag);
    if (life.isOver()) return never();
    const value = work();
    await Promise.resolve();
    return life.isOver() ? never() : value;
  };
  /** As `reply`, where an agent can be killed before or after it happened. */
  const touch = <T>(work: () => T): Promise<T> =>
    reply(() => {
      const trip = host.tripwire;
      host.tripwire = undefined;
      if (trip === undefined || dice.chance(0.5)) {
        const value = work();
        trip?.();
        return value;
      }
      trip();
      // Whoever asked is not there any more.
      return undefined as T;
    });
  const written = (path: string, text: string): void => {
    if (host.isDiskFull) throw new NoSpace(`ENOSPC: no space left on device, write '${path}'`);
    host.disk.set(path, text);
  };
  return {
    newLaunchId: () => `launch-${String(dice.whole(1, 2 ** 40))}`,
    cpuFlags: () => reply(() => []),
    readBootId: () => reply(() => host.bootId),
    ...processesOf(host, life, { reply, touch }),
    ...controlGroups(reply),
    readText: (path) => reply(() => host.disk.get(path)),
    writeFile: (path, text) =>
      touch(() => {
        written(path, typeof text === "string" ? text : "");
      }),
    remove: (path) =>
      touch(() => {
        for (const name of [...host.disk.keys()]) if (isBelow(path, name)) host.disk.delete(name);
      }),
    listFolders: (path) => reply(() => foldersIn(path, [...host.disk.keys()])),
    setAside: (path) => reply(() => `${path}.not-believed`),
    makePrivateFolder: () => reply(() => undefined),
    identifyModel: ({ modelPath }: Pick<Prepared, "modelPath">) =>
      reply(() => ({ weights: fingerprint(modelPath), digest: "" })),
    logSize: (path) => reply(() => sizeOf(host, path)),
    cutLog: () => reply(() => undefined),
    setLogAsideIfLarge: () => reply(() => undefined),
    readTail: (path, lines) => reply(() => (host.logs.get(path) ?? []).slice(-lines)),
    readTailAcrossCut: (path, lines) => reply(() => (host.logs.get(path) ?? []).slice(-lines)),
    ...portsOf(host, life, { ...around, reply }),
  };
}

type Reply = <T>(work: () => T) => Promise<T>;

function processesOf(host: SimHost, life: Lifetime, { reply, touch }: Record<"reply" | "touch", Reply>) {
  const all = (): readonly SimProcess[] => [...host.processes.values()];
  const marked = (name: string, value: string) => all().filter(({ env }) => env[name] === value);
  return {
    listProcesses: () => reply(() => all().map(({ stat }) => stat)),
    lookAtProcess: (pid: number) =>
      reply(() => {
        const found = host.processes.get(pid);
        return found === undefined ? ({ kind: "gone" } as const) : ({ kind: "there", stat: found.stat } as const);
      }),
    findByEnvironment: (name: string, value: string) => reply(() => marked(name, value).map(({ stat }) => stat)),
    readArguments: (pid: number) => reply(() => host.processes.get(pid)?.argv ?? []),
    readEnvironment: (pid: number) => reply(() => host.processes.get(pid)?.env ?? {}),
    spawnDetached: (program: Parameters<Machine["spawnDetached"]>[0]) =>
      touch((): Awaited<ReturnType<Machine["spawnDetached"]>> => {
        host.disk.delete(program.statusPath);
        const { engine, keeper, exited } = host.spawn(program);
        return ok({ pid: engine.stat.pid, keeper: keeper.stat.pid, exited: exited.promise });
      }),
    signalGroup: (leader: number, signal: "SIGTERM" | "SIGKILL") => !life.isOver() && host.signal(leader, signal, true),
    signalProcess: (pid: number, signal: "SIGTERM" | "SIGKILL") => !life.isOver() && host.signal(pid, signal, false),
    readExitStatus: (path: string) =>
      reply(() => {
        const text = host.disk.get(path);
        if (text === undefined) return undefined;
        const status = Number(text);
        return status > 128 ? { code: null, signal: "SIGKILL" } : { code: status, signal: null };
      }),
    exitedAt: (path: string) =>
      reply(() => {
        const at = host.writtenAt.get(path);
        return at === undefined || !host.disk.has(path) ? undefined : millis(at);
      }),
  };
}

/** None: an answer that agents must live with anyway. */
function controlGroups(reply: Reply) {
  return {
    joinCgroup: () => reply((): readonly string[] => []),
    findCgroups: () => reply((): readonly string[] => []),
    cgroupMembers: () => reply((): ReadonlySet<number> => new Set<number>()),
    killCgroup: () => reply(() => undefined),
    removeCgroup: () => reply(() => undefined),
    sweepCgroups: () => reply(() => undefined),
    memoryKills: () => reply(() => undefined),
    systemMemoryKills: () => reply(() => undefined),
  };
}

function portsOf(
  host: SimHost,
  life: Lifetime,
  { clock, dice, reach, reply }: Surroundings & { readonly reply: Reply },
) {
  return {
    portOwner: (port: number, pids: readonly number[]) =>
      reply(() => {
        const listener = host.listener(port);
        if (listener === undefined) return "nobody";
        return pids.includes(listener.stat.pid) ? "theirs" : "others";
      }),
    openMeeting: ({ port }: { readonly port: number }, answer: (line: string) => string | undefined) =>
      reply((): Awaited<ReturnType<Machine["openMeeting"]>> => {
        if (host.meetings.has(port) || host.listener(port) !== undefined) return err("address already in use");
        host.meetings.set(port, answer);
        const close = () => reply(() => void host.meetings.delete(port));
        return ok({ close });
      }),
    callMeeting: ({ host: address, port, line, timeout, signal }: Parameters<Machine["callMeeting"]>[0]) => {
      const call = async (): Promise<Result<string, string>> => {
        await clock.passed(dice.between(1, 5));
        const other = reach(host, address);
        if (other === undefined) {
          await clock.passed(timeout);
          return err(`no answer within ${String(timeout / 1000)} s`);
        }
        const said = other.meetings.get(port)?.(line);
        return said === undefined ? err("connection refused") : ok(said);
      };
      return orGivenUp(call(), { life, signal, otherwise: err("given up") });
    },
    askEngine: (
      { port, apiKey }: Parameters<Machine["askEngine"]>[0],
      request: Parameters<Machine["askEngine"]>[1],
      { timeout, signal }: Parameters<Machine["askEngine"]>[2],
    ) => {
      const ask = async (): Promise<Awaited<ReturnType<Machine["askEngine"]>>> => {
        await clock.passed(dice.between(1, 10) * host.slowness);
        const engine = host.listener(port)?.engine;
        if (engine === undefined) return err("connect ECONNREFUSED");
        if (engine.health === "hung") {
          await clock.passed(timeout);
          return err(`no answer within ${String(timeout / 1000)} s`);
        }
        if (engine.health === "loading") {
          return engine.dialect === "vllm" ? err("connect ECONNREFUSED") : ok({ status: 503, body: "loading" });
        }
        if (request.method === "POST" && engine.apiKey !== apiKey) return ok({ status: 401, body: "" });
        if (request.method === "POST") engine.hasWorked = true;
        return ok(answerOf(engine, request));
      };
      return orGivenUp(ask(), { life, signal, otherwise: err("it is no longer asked") });
    },
  };
}

/** What comes first: the answer, or that nobody waits for it any more. */
async function orGivenUp<T>(
  answer: Promise<T>,
  { life, signal, otherwise }: { readonly life: Lifetime; readonly signal: AbortSignal; readonly otherwise: T },
): Promise<T> {
  const given = Promise.withResolvers<T>();
  const giveUp = (): void => {
    given.resolve(otherwise);
  };
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  const value = await Promise.race([answer, given.promise]);
  signal.removeEventListener("abort", giveUp);
  return life.isOver() ? never() : value;
}

const isBelow = (path: string, name: string): boolean => name === path || name.startsWith(`${path}/`);

const sizeOf = (host: SimHost, path: string): number =>
  (host.logs.get(path) ?? []).reduce((sum, line) => sum + line.length + 1, 0);

function foldersIn(path: string, names: readonly string[]): readonly string[] {
  const inside = names.filter((name) => name.startsWith(`${path}/`)).map((name) => name.slice(path.length + 1));
  return [
    ...new Set(inside.filter((rest) => rest.includes("/")).map((rest) => rest.slice(0, rest.indexOf("/")))),
  ].sort();
}
