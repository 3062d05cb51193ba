import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { gpuUuid, millis, profileName, replicaId } from "../core/ids.ts";
import { silentLogger } from "../platform/logger.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import {
  parseLaunchRecord,
  readLaunchRecords,
  removeLaunchRecord,
  replicaFolder,
  serialiseLaunchRecord,
  writeLaunchRecord,
} from "./launch-record.ts";
import { THIS_MACHINE } from "./machine.ts";

const node = { logger: silentLogger, machine: THIS_MACHINE };
const root = await mkdtemp(join(tmpdir(), "llmgw-records-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const record: LaunchRecord = {
  launchId: "0b5e",
  bootId: "boot-a",
  replica: {
    id: replicaId("chat-1"),
    profile: profileName("chat"),
    specHash: "h1",
    serves: ["chat", "default"],
    engine: "auto",
    model: { source: "hf:a/b", files: ["*.gguf"], sha256: { "m.gguf": "00" } },
    context: 4096,
    args: ["--x", '{"a": 1}'],
    env: { A: "b" },
    gpus: [gpuUuid("GPU-1")],
    apiKey: "sk-engine",
    startTimeout: millis(900_000),
    generation: 3,
  },
  endpoint: { host: "192.0.2.10", port: 41_000 },
  probeHost: "192.0.2.10",
  engine: { name: "llama.cpp", version: "b1" },
  process: { pid: 42, startTicks: 777 },
  keeper: { pid: 41, startTicks: 776 },
  cgroups: ["/sys/fs/cgroup/llmgw-0b5e"],
  hashes: { argv: "a", env: "e" },
  capacity: { slots: 4, context: 2048 },
  launches: 2,
  logOffset: 17,
  startedAt: millis(1_700_000_000_000),
};
const text = serialiseLaunchRecord(record);

describe("a record", () => {
  test.each<{ name: string; change: Partial<LaunchRecord> }>([
    { name: "of a ready engine", change: {} },
    { name: "of a loading one", change: { capacity: undefined } },
    { name: "of a mere intent", change: { capacity: undefined, process: undefined } },
  ])("$name comes back as it was", ({ change }) => {
    const written = { ...record, ...change };
    expect(parseLaunchRecord(serialiseLaunchRecord(written))).toEqual(written);
  });

  test("cut off at any byte is not believed", () => {
    for (let length = 0; length < text.length - 2; length++) {
      expect(parseLaunchRecord(text.slice(0, length))).toBeUndefined();
    }
  });

  test.each([
    { name: "another form", change: { form: 2 } },
    { name: "no port", change: { endpoint: { host: "x" } } },
    { name: "a pid that is no number", change: { process: { pid: "42", startTicks: 7 } } },
    { name: "a process without its start", change: { process: { pid: 42 } } },
    { name: "a negative count", change: { launches: -1 } },
    { name: "no replica", change: { desired: { replicas: [] } } },
    { name: "a replica of unknown fields", change: { desired: { replicas: [{ id: "a", what: 1 }] } } },
  ])("with $name is not believed", ({ change }) => {
    expect(parseLaunchRecord(JSON.stringify({ ...(JSON.parse(text) as object), ...change }))).toBeUndefined();
  });

  test("of whatever text never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (any) => {
        expect(parseLaunchRecord(any)).toBeUndefined();
      }),
    );
  });
});

describe("on disk", () => {
  test("only this user can read it, and a removed one is gone", async () => {
    const workDir = join(root, "a");
    const folder = replicaFolder(workDir, record.replica.id);
    await writeLaunchRecord(folder, record, THIS_MACHINE);
    expect((await stat(join(folder, "launch.json"))).mode & 0o777).toBe(0o600);
    expect(await readLaunchRecords(workDir, node)).toEqual([record]);
    await removeLaunchRecord(folder, THIS_MACHINE);
    expect(await readLaunchRecords(workDir, node)).toEqual([]);
  });

  test("half a record, and one of another folder, are set aside", async () => {
    const workDir = join(root, "b");
    await mkdir(join(workDir, "replicas", "half"), { recursive: true });
    await writeFile(join(workDir, "replicas", "half", "launch.json"), text.slice(0, 100));
    await mkdir(join(workDir, "replicas", "foreign"));
    await writeFile(join(workDir, "replicas", "foreign", "launch.json"), text);
    await mkdir(join(workDir, "replicas", "empty"));
    expect(await readLaunchRecords(workDir, node)).toEqual([]);
    expect(await readdir(join(workDir, "replicas", "half"))).toEqual(["launch.json.not-believed"]);
    expect(await readdir(join(workDir, "replicas", "foreign"))).toEqual(["launch.json.not-believed"]);
  });

  test("no folder yet is no record", async () => {
    expect(await readLaunchRecords(join(root, "nothing"), node)).toEqual([]);
  });

  test.each(["../../etc", "a/b", "", ".hidden", "a\0b"])("the id %j cannot lead elsewhere", (id) => {
    expect(replicaFolder("/w", replicaId(id))).toMatch(/^\/w\/replicas\/_[0-9a-f]{16}$/);
  });
});
