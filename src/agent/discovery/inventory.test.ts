import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { bytes } from "../../core/ids.ts";
import type { Inventory } from "../../core/node.ts";
import { systemClock } from "../../platform/clock.ts";
import { silentLogger } from "../../platform/logger.ts";
import { fabricAddressNotes, gatherInventory, type InventorySources, portNotes } from "./inventory.ts";
import { watchInventory } from "./watch.ts";
import { isWorthSending } from "./worth-sending.ts";

const sources: InventorySources = {
  controlPlanes: ["127.0.0.1"],
  mgmtAddr: undefined,
  mgmtInterface: undefined,
  labels: { rack: "r12" },
  enginePorts: { first: 1, last: 2 },
  workDir: tmpdir(),
  weightFolders: [tmpdir(), `${tmpdir()}/not/there/yet`, tmpdir()],
  readGpus: () => Promise.resolve({ gpus: [], countedTwice: [], problems: ["a card is lost"], notes: ["by hand"] }),
  readFabrics: () =>
    Promise.resolve({
      fabrics: [{ name: "ib-a", hcas: ["mlx5_0"], rateGbps: 200, ports: [], problem: "port down" }],
      problems: ["fabric ib-a: port down"],
      notes: ["a hint"],
    }),
  foundEngines: () => Promise.resolve({ builds: [], problems: ["no engine runs"], notes: [] }),
  heldWeights: () => Promise.resolve([]),
};

test("this machine", async () => {
  const inventory = await gatherInventory(sources);
  expect(inventory).toMatchObject({
    address: "127.0.0.1",
    labels: { rack: "r12" },
    fabrics: [{ name: "ib-a", hcas: ["mlx5_0"], rateGbps: 200 }],
    problems: ["a card is lost", "fabric ib-a: port down", "no engine runs"],
    notes: ["by hand", "a hint"],
  });
  expect(inventory.memoryTotal).toBeGreaterThan(inventory.memoryAvailable);
  expect(inventory.cpus).toBeGreaterThan(0);
  expect(inventory.disks.map(({ path }) => path)).toEqual([tmpdir(), `${tmpdir()}/not/there/yet`]);
  expect(inventory.disks[1]?.total).toBe(inventory.disks[0]?.total);
});

test("a name that does not resolve leaves an interface's address", async () => {
  const inventory = await gatherInventory({ ...sources, controlPlanes: ["no-such-host.invalid", "127.0.0.1"] });
  expect(inventory.address).toBe("127.0.0.1");
});

test("an address of a fabric is told: ranks and clients meet on the management network", () => {
  const port = { hca: "mlx5_0", port: 1, state: "ACTIVE", linkLayer: "InfiniBand", rateGbps: 200, pciBusId: "" };
  const ports = [{ ...port, numaNode: undefined, addresses: ["198.51.100.10"] }];
  const fabrics = [{ name: "ib-a", hcas: ["mlx5_0"], rateGbps: 200, ports, problem: undefined }];
  expect(fabricAddressNotes("198.51.100.10", fabrics)[0]).toContain("belongs to the fabric ib-a");
  expect(fabricAddressNotes("192.0.2.10", fabrics)).toEqual([]);
  expect(fabricAddressNotes(undefined, fabrics)).toEqual([]);
});

test("B31 a range that overlaps the kernel's own is told", () => {
  const kernel = { first: 32_768, last: 60_999 };
  expect(portNotes({ first: 41_000, last: 41_999 }, kernel)[0]).toContain("net.ipv4.ip_local_port_range 32768-60999");
  expect(portNotes({ first: 10_000, last: 32_767 }, kernel)).toEqual([]);
  expect(portNotes({ first: 61_000, last: 62_000 }, kernel)).toEqual([]);
  expect(portNotes({ first: 41_000, last: 41_999 }, undefined)).toEqual([]);
});

const plain: Inventory = {
  hostname: "gpu-a-01",
  address: "192.0.2.10",
  agentVersion: "1",
  os: "Linux",
  arch: "x64",
  cpus: 8,
  memoryTotal: bytes(1000),
  memoryAvailable: bytes(500),
  disks: [{ path: "/w", total: bytes(1000), free: bytes(500) }],
  gpus: [],
  engines: [],
  weights: [],
  fabrics: [],
  labels: {},
  problems: [],
  notes: [],
};

test.each<{ name: string; change: Partial<Inventory>; worth: boolean }>([
  { name: "nothing new", change: {}, worth: false },
  { name: "memory that breathes", change: { memoryAvailable: bytes(519) }, worth: false },
  { name: "memory that was taken", change: { memoryAvailable: bytes(470) }, worth: true },
  { name: "a disk that fills", change: { disks: [{ path: "/w", total: bytes(1000), free: bytes(400) }] }, worth: true },
  { name: "a problem", change: { problems: ["x"] }, worth: true },
  { name: "another address", change: { address: "192.0.2.11" }, worth: true },
  {
    name: "weights that came",
    change: { weights: [{ source: "hf:a/b", path: "/w/a", bytes: bytes(1) }] },
    worth: true,
  },
])("$name", ({ change, worth }) => {
  expect(isWorthSending(plain, { ...plain, ...change })).toBe(worth);
});

test("the watch tells of changes only, and looks again when asked", async () => {
  const answers = [plain, plain, { ...plain, problems: ["x"] }];
  const told: Inventory[] = [];
  const stop = new AbortController();
  let looks = 0;
  const watch = await watchInventory({
    gather: () => Promise.resolve(answers[looks++] ?? plain),
    onChange: (inventory) => told.push(inventory),
    clock: systemClock,
    logger: silentLogger,
    signal: stop.signal,
  });
  watch.refresh();
  await expect.poll(() => looks).toBe(2);
  expect(told).toEqual([]);
  watch.refresh();
  await expect.poll(() => told).toEqual([{ ...plain, problems: ["x"] }]);
  expect(watch.current().problems).toEqual(["x"]);
  stop.abort();
});
