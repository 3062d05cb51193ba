import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { basename, join } from "node:path";
import type { DesiredReplica } from "../core/desired.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { isNodeName, millis, type ReplicaId } from "../core/ids.ts";
import { CGROUP_PREFIX } from "../platform/cgroup.ts";
import type { Logger } from "../platform/logger.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import type { ProcessRef } from "../reconcile/supervision.ts";
import { desiredFromWire, desiredToWire } from "../wire/desired.ts";
import { DesiredStateSchema } from "../wire/gen/llmgw/v1/agent_pb.js";
import type { Machine } from "./machine.ts";

/** Only what was written by the same form is believed; a later form gets another number. */
const FORM = 1;
const FILE = "launch.json";

/** The folder of everything that belongs to one replica; an id that is no safe name of one gets another. */
export const replicaFolder = (workDir: string, id: ReplicaId): string =>
  join(workDir, "replicas", isNodeName(id) ? id : `_${fingerprint(id)}`);

/** Of the control group that a launch has for itself. */
export const cgroupName = (launchId: string): string => `${CGROUP_PREFIX}${launchId}`;

/** Writes the record whole or not at all, readable by this user only: it holds the replica's key. */
export async function writeLaunchRecord(folder: string, record: LaunchRecord, machine: Machine): Promise<void> {
  await machine.writeFile(join(folder, FILE), serialiseLaunchRecord(record), 0o600);
}

export const removeLaunchRecord = (folder: string, machine: Machine): Promise<void> =>
  machine.remove(join(folder, FILE));

/** Every launch that was written down below the folder. What cannot be believed is set aside and said so. */
export async function readLaunchRecords(
  workDir: string,
  { logger, machine }: { readonly logger: Logger; readonly machine: Machine },
): Promise<readonly LaunchRecord[]> {
  const root = join(workDir, "replicas");
  const records: LaunchRecord[] = [];
  for (const name of await machine.listFolders(root)) {
    const path = join(root, name, FILE);
    const text = await machine.readText(path);
    if (text === undefined) continue;
    const record = parseLaunchRecord(text);
    if (record !== undefined && replicaFolder(workDir, record.replica.id) === join(root, name)) {
      records.push(record);
      continue;
    }
    const aside = await machine.setAside(path);
    logger.warn(`${path} is no launch record of this agent; it is kept as ${aside} and not believed`);
  }
  return records;
}

export function serialiseLaunchRecord({ replica, startedAt, ...plain }: LaunchRecord): string {
  const desired = { revision: 0, replicas: [replica], engines: {}, weightsConcurrency: 0 };
  const written = { form: FORM, ...plain, startedAt, desired: toJson(DesiredStateSchema, desiredToWire(desired)) };
  return `${JSON.stringify(written, undefined, 2)}\n`;
}

/** Undefined for anything that was not written by `serialiseLaunchRecord`, whole. */
export function parseLaunchRecord(text: string): LaunchRecord | undefined {
  const value = parseObject(text);
  if (value?.["form"] !== FORM) return undefined;
  const replica = replicaIn(value["desired"]);
  if (replica === undefined) return undefined;
  try {
    return recordIn(value, replica);
  } catch (error) {
    if (error instanceof WrongField) return undefined;
    throw error;
  }
}

class WrongField extends Error {}

function recordIn(value: JsonObject, replica: DesiredReplica): LaunchRecord {
  const launchId = textOf(value["launchId"]);
  const engine = objectOf(value["engine"]);
  // Left out when it is not known yet.
  const process = value["process"] === undefined ? undefined : objectOf(value["process"]);
  const keeper = value["keeper"] === undefined ? undefined : objectOf(value["keeper"]);
  const hashes = objectOf(value["hashes"]);
  const capacity = value["capacity"] === undefined ? undefined : objectOf(value["capacity"]);
  return {
    launchId,
    bootId: textOf(value["bootId"]),
    replica,
    endpoint: endpointIn(objectOf(value["endpoint"])),
    probeHost: textOf(value["probeHost"]),
    engine: { name: textOf(engine["name"]), version: textOf(engine["version"]) },
    process: process === undefined ? undefined : processIn(process),
    keeper: keeper === undefined ? undefined : processIn(keeper),
    // Whatever a record says, only a group that is named after the launch is the launch's to end.
    cgroups: textsOf(value["cgroups"]).filter((folder) => basename(folder) === cgroupName(launchId)),
    hashes: { argv: textOf(hashes["argv"]), env: textOf(hashes["env"]) },
    capacity:
      capacity === undefined ? undefined : { slots: countOf(capacity["slots"]), context: countOf(capacity["context"]) },
    launches: countOf(value["launches"]),
    logOffset: countOf(value["logOffset"]),
    startedAt: millis(countOf(value["startedAt"])),
  };
}

function endpointIn(value: JsonObject): LaunchRecord["endpoint"] {
  const { tlsSha256 } = value;
  const place = { host: textOf(value["host"]), port: countOf(value["port"]) };
  return tlsSha256 === undefined ? place : { ...place, tlsSha256: textOf(tlsSha256) };
}

const processIn = (value: JsonObject): ProcessRef => ({
  pid: countOf(value["pid"]),
  startTicks: countOf(value["startTicks"]),
});

function textsOf(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value)) throw new WrongField();
  return value.map(textOf);
}

function textOf(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw new WrongField();
  return value;
}

function countOf(value: JsonValue | undefined): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw new WrongField();
  return value;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function objectOf(value: JsonValue | undefined): JsonObject {
  if (!isObject(value)) throw new WrongField();
  return value;
}

function replicaIn(value: JsonValue | undefined): DesiredReplica | undefined {
  if (value === undefined) return undefined;
  try {
    const { replicas } = desiredFromWire(fromJson(DesiredStateSchema, value));
    return replicas.length === 1 ? replicas[0] : undefined;
  } catch {
    return undefined;
  }
}
