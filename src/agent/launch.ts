import { dirname, join } from "node:path";
import type { DesiredReplica } from "../core/desired.ts";
import { messageOf } from "../core/errors.ts";
import type { GangPart } from "../core/gang-part.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isErrno } from "../platform/files.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import type { AttemptEnd, ProcessRef } from "../reconcile/supervision.ts";
import { type EngineTls, engineTls, tlsTrouble } from "./engine-tls.ts";
import { endMarked, hashesOf, LAUNCH_MARK, REPLICA_MARK } from "./launch-processes.ts";
import { cgroupName, removeLaunchRecord, writeLaunchRecord } from "./launch-record.ts";
import { placeOnGpus } from "./gpu-place.ts";
import type { Machine } from "./machine.ts";
import type { NodeContext, Prepared } from "./node-context.ts";

export interface LaunchOrder {
  readonly replica: DesiredReplica;
  readonly prepared: Prepared;
  readonly folder: string;
  /** Launches of the replica before this one. */
  readonly launchesBefore: number;
  /** Its part of a replica that spans nodes. */
  readonly gang: GangPart | undefined;
  readonly signal: AbortSignal;
}

export interface Launched {
  readonly record: LaunchRecord & { readonly process: ProcessRef };
  /** Resolves when its keeper has ended. */
  readonly exited: Promise<void>;
}

/** The output of a replica's engines, one after the other. */
export const logPathOf = (folder: string): string => join(folder, "engine.log");
/** How the replica's last engine ended. */
export const statusPathOf = (folder: string): string => join(folder, "exit-status");

/** A log is put aside before a start when it is larger, so that a crash loop does not fill the disk. */
const LARGE_LOG = 64 * 1024 * 1024;

/** Starts the engine. What is about to be started is on disk before it is, so that it can be found whatever happens. */
export async function launch(order: LaunchOrder, node: NodeContext): Promise<Result<Launched, AttemptEnd>> {
  return launchIfFree(order, node).catch((error: unknown) =>
    isErrno(error, ...NO_WRITING)
      ? waits(`nothing is started that cannot be written down in ${node.workDir}: ${messageOf(error)}`)
      : again(messageOf(error)),
  );
}

/** A disk that is full or read-only. */
const NO_WRITING = ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO"] as const;

async function launchIfFree(order: LaunchOrder, node: NodeContext): Promise<Result<Launched, AttemptEnd>> {
  const host = node.address();
  if (host === undefined) return waits("this node has no address that others could reach an engine on");
  const mark = replicaMark(node.workDir, order.replica);
  if (!(await endMarked(mark, node))) {
    return waits("a process of an earlier start is still there although it was killed; a second copy is not started");
  }
  const listenHost = node.isLocal(host) ? host : "0.0.0.0";
  const trouble = tlsTrouble(order.prepared, node);
  if (trouble !== undefined) return err({ reason: trouble, retry: false });
  const port = await node.ports.take(listenHost);
  if (port === undefined) return waits("every port of engine_ports is taken; give it a wider range");
  let isLaunched = false;
  try {
    const launched = await launchOn({ order, node, host, listenHost, port });
    isLaunched = launched.ok;
    return launched;
  } finally {
    if (!isLaunched) node.ports.release(port);
  }
}

const again = (reason: string): { readonly ok: false; readonly error: AttemptEnd } => err({ reason, retry: true });
const waits = (reason: string): ReturnType<typeof again> => err({ reason, retry: true, waits: true });

/** Of all engines that any launch of the replica by this agent started, and of no other agent's on the machine. */
const replicaMark = (workDir: string, { id }: DesiredReplica) => ({ name: REPLICA_MARK, value: `${workDir}#${id}` });

interface Place {
  readonly order: LaunchOrder;
  readonly node: NodeContext;
  readonly host: string;
  readonly listenHost: string;
  readonly port: number;
}

async function launchOn(place: Place): Promise<Result<Launched, AttemptEnd>> {
  const { order, node } = place;
  const { machine } = node;
  const logPath = logPathOf(order.folder);
  await machine.setLogAsideIfLarge(logPath, LARGE_LOG);
  const tls = await engineTls({ ...order, host: place.host }, node);
  const { argv, env, files = [] } = order.prepared.engine.command(commandOf(place, tls));
  const intent = intentOf(place, tls, { hashes: hashesOf(argv, env), logOffset: await machine.logSize(logPath) });
  await writeLaunchRecord(order.folder, intent, machine);
  if (order.signal.aborted) {
    await removeLaunchRecord(order.folder, machine);
    return again("stopped before it was started");
  }
  const mark = replicaMark(node.workDir, order.replica);
  const marks = { [LAUNCH_MARK]: intent.launchId, [mark.name]: mark.value };
  const cwd = engineFolder(order.folder);
  await machine.makePrivateFolder(cwd);
  for (const { path, text } of files) {
    await machine.makePrivateFolder(dirname(path));
    // A key may be in it.
    await machine.writeFile(path, text, 0o600);
  }
  const statusPath = statusPathOf(order.folder);
  const spawned = await machine.spawnDetached({ argv, env: { ...env, ...marks }, cwd, logPath, statusPath });
  if (!spawned.ok) {
    await removeLaunchRecord(order.folder, machine);
    return again(spawned.error);
  }
  const { pid, keeper, exited } = spawned.value;
  const cgroups = await machine.joinCgroup(await node.cgroupHomes(), cgroupName(intent.launchId), pid);
  const record = { ...intent, process: await refOf(pid, machine), keeper: await refOf(keeper, machine), cgroups };
  await writeLaunchRecord(order.folder, record, machine).catch((error: unknown) => {
    // The engine runs. The intent is on disk, and by its mark the process is found again without this.
    node.logger.error(`the record of replica ${order.replica.id} could not be completed: ${messageOf(error)}`);
  });
  return ok({ record, exited });
}

const engineFolder = (folder: string): string => join(folder, "work");

function intentOf(
  { order, node, host, listenHost, port }: Place,
  tls: EngineTls | undefined,
  found: Pick<LaunchRecord, "hashes" | "logOffset">,
): LaunchRecord {
  const { engine, build } = order.prepared;
  return {
    launchId: node.machine.newLaunchId(),
    bootId: node.bootId,
    replica: order.replica,
    endpoint: { host, port, ...(tls === undefined ? {} : { tlsSha256: tls.tlsSha256 }) },
    probeHost: listenHost === "0.0.0.0" ? "127.0.0.1" : listenHost,
    engine: { name: engine.name, version: build.version },
    process: undefined,
    keeper: undefined,
    cgroups: [],
    capacity: undefined,
    launches: order.launchesBefore + 1,
    ...found,
    startedAt: node.clock.now(),
  };
}

function commandOf({ order, node, listenHost, port }: Place, tls: EngineTls | undefined) {
  const { replica, prepared, folder } = order;
  const { serves, context, gpus, apiKey, args, env, parallel } = replica;
  const { modelPath, files, build, adapters = [] } = prepared;
  const cut = parallel === undefined ? {} : { parallel };
  const gang = order.gang === undefined ? {} : { gang: order.gang };
  const own = { serves, context, gpus, apiKey, args, env, ...cut, ...gang, ...placeOnGpus(replica, node.gpus()) };
  const nodeOptions = node.engineOptions(prepared.engine.name);
  return {
    ...{ ...own, binary: build.path, version: build.version, modelPath, files, nodeOptions },
    ...{ host: listenHost, port, workDir: engineFolder(folder) },
    ...(tls === undefined ? {} : { tls }),
    ...(adapters.length === 0 ? {} : { adapters }),
  };
}

/** 0 ticks when it has ended already: then its exit is on its way, and no process ever started at 0 ticks. */
async function refOf(pid: number, machine: Machine): Promise<ProcessRef> {
  const look = await machine.lookAtProcess(pid);
  return { pid, startTicks: look.kind === "there" ? look.stat.startTicks : 0 };
}
