import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { makeAdapter, makeTree, port } from "../../../test/fakes/sysfs-tree.ts";
import { systemClock } from "../../platform/clock.ts";
import { createFabricReader } from "./fabrics.ts";
import { portOf } from "./infiniband.ts";

const base = await mkdtemp(join(tmpdir(), "llmgw-ib-"));
afterAll(() => rm(base, { recursive: true, force: true }));

let machine = "";
let root = "";
let count = 0;
beforeEach(() => {
  machine = join(base, String(count++));
  root = join(machine, "class", "infiniband");
});

const check = (hcas: readonly string[], { name = "ib-a", rateGbps = 0 } = {}) =>
  createFabricReader({ root, fabrics: [{ name, hcas, rateGbps }], clock: systemClock })();

test("a fabric whose adapters are all well", async () => {
  await makeAdapter(machine, "mlx5_0");
  await makeAdapter(machine, "mlx5_1", { pci: "0000:43:00.0", numa: "-1\n" });
  expect(await check(["mlx5_0", "mlx5_1"], { rateGbps: 400 })).toEqual({
    fabrics: [
      {
        name: "ib-a",
        hcas: ["mlx5_0", "mlx5_1"],
        rateGbps: 400,
        problem: undefined,
        ports: [
          {
            hca: "mlx5_0",
            port: 1,
            state: "ACTIVE",
            linkLayer: "InfiniBand",
            rateGbps: 400,
            pciBusId: "0000:1b:00.0",
            numaNode: 0,
            addresses: [],
          },
          expect.objectContaining({ hca: "mlx5_1", pciBusId: "0000:43:00.0", numaNode: undefined }),
        ],
      },
    ],
    problems: [],
    notes: [],
  });
});

const slow = "mlx5_0 port 1 runs at 100 Gbit/s (4X EDR), less than rate_gbps 200";
const bond = 'mlx5_0 port 1 is Ethernet, not InfiniBand (a fabric over Ethernet needs "roce" in its name)';
test.each([
  { name: "too slow", ports: { "1": port({ rate: "100 Gb/sec (4X EDR)\n" }) }, problem: slow },
  { name: "Ethernet", ports: { "1": port({ link_layer: "Ethernet\n" }) }, problem: bond },
  {
    name: "cable out",
    ports: { "1": port({ state: "1: DOWN\n", phys_state: "2: Polling\n" }) },
    problem: "mlx5_0 port 1 is not up: DOWN, Polling: nothing answers at the other end of its cable",
  },
  {
    name: "switched off",
    ports: { "1": port({ state: "1: DOWN\n", phys_state: "3: Disabled\n" }) },
    problem: "mlx5_0 port 1 is not up: DOWN, Disabled: it was switched off",
  },
  {
    name: "no subnet manager",
    ports: { "1": port({ state: "2: INIT\n" }) },
    problem: "mlx5_0 port 1 is not up: INIT, LinkUp: no subnet manager has answered",
  },
  {
    name: "a kernel with another word for the same state",
    ports: { "1": port({ state: "4: Active\n", phys_state: "5: Link Up\n" }) },
    problem: undefined,
  },
  {
    name: "rubbish",
    ports: { "1": port({ state: new Uint8Array([0xff, 0, 0x80, 10]), phys_state: "" }) },
    problem: "mlx5_0 port 1 is not up: its state cannot be read",
  },
  { name: "no port", ports: {}, problem: "mlx5_0 shows no port" },
  {
    name: "two ports, one of them on this fabric",
    ports: { "1": port({ link_layer: "Ethernet\n" }), "2": port() },
    problem: undefined,
  },
  {
    name: "two ports, neither well: the one that came farthest is told of",
    ports: { "1": port({ link_layer: "Ethernet\n" }), "2": port({ rate: "100 Gb/sec (4X EDR)\n" }) },
    problem: "mlx5_0 port 2 runs at 100 Gbit/s (4X EDR), less than rate_gbps 200",
  },
  {
    name: "SDR is slow where the kernel must know better",
    ports: { "1": port({ rate: "10 Gb/sec (4X SDR)\n" }) },
    problem: "mlx5_0 port 1 runs at 10 Gbit/s (4X SDR), less than rate_gbps 200",
  },
  { name: "a rate that cannot be read proves nothing", ports: { "1": port({ rate: "fast\n" }) }, problem: undefined },
])("$name", async ({ ports, problem }) => {
  await makeAdapter(machine, "mlx5_0", { ports });
  const { fabrics, problems } = await check(["mlx5_0"], { rateGbps: 200 });
  expect(fabrics[0]?.problem).toBe(problem);
  expect(problems).toEqual(problem === undefined ? [] : [`fabric ib-a: ${problem}`]);
});

describe("what is not there", () => {
  test("an adapter that is missing is named, and so are those that there are", async () => {
    await makeAdapter(machine, "mlx5_10");
    await makeAdapter(machine, "mlx5_2", { pci: "0000:43:00.0" });
    expect((await check(["mlx5_1"])).problems).toEqual([
      `fabric ib-a: there is no adapter mlx5_1 in ${root}: there are mlx5_2, mlx5_10`,
    ]);
  });

  test("no folder at all", async () => {
    expect((await check(["mlx5_0"])).problems[0]).toContain("no RDMA driver is loaded");
  });

  test("an empty folder", async () => {
    await mkdir(root, { recursive: true });
    expect((await check(["mlx5_0"])).problems[0]).toContain("it has none");
  });

  test("a node without fabrics looks at nothing and complains of nothing", async () => {
    const read = createFabricReader({ root, fabrics: [], clock: systemClock });
    expect(await read()).toEqual({ fabrics: [], problems: [], notes: [] });
  });

  test("a pipe where a file should be holds nobody up", async () => {
    await makeAdapter(machine, "mlx5_0", { ports: { "1": port({ state: {} }) } });
    const state = join(root, "mlx5_0", "ports", "1", "phys_state");
    await rm(state);
    execFileSync("mkfifo", [state]);
    expect((await check(["mlx5_0"])).problems[0]).toContain("its state cannot be read");
  });
});

test("a speed that the kernel is too old for is a note", async () => {
  await makeAdapter(machine, "mlx5_0", { ports: { "1": port({ rate: "10 Gb/sec (4X SDR)\n" }) } });
  const { problems, notes } = await check(["mlx5_0"], { rateGbps: 400 });
  expect(problems).toEqual([]);
  expect(notes[0]).toContain("kernels say SDR of speeds too new for them");
});

test("the fabric is read anew each time", async () => {
  const read = createFabricReader({
    root,
    fabrics: [{ name: "a", hcas: ["mlx5_0"], rateGbps: 0 }],
    clock: systemClock,
  });
  expect((await read()).problems).toHaveLength(1);
  await makeAdapter(machine, "mlx5_0");
  expect((await read()).problems).toEqual([]);
  await makeTree(join(root, "mlx5_0", "ports", "1"), { state: "1: DOWN\n" });
  expect((await read()).problems).toHaveLength(1);
});

describe("RoCE", () => {
  const gids = { "0": "fe80:0000:0000:0000:0c42:a103:0075:6abc", "3": "0000:0000:0000:0000:0000:ffff:c633:640d" };
  const roce = { "1": port({ link_layer: "Ethernet\n", gids }) };

  test("B16 a port has the addresses of its table of GIDs", async () => {
    await makeAdapter(machine, "roceP2p1s0f1", { ports: roce });
    const { fabrics, problems } = await check(["roceP2p1s0f1"], { name: "east" });
    expect(problems).toEqual([]);
    expect(fabrics[0]?.ports[0]?.addresses).toEqual(["198.51.100.13"]);
  });

  test("a name can say that Ethernet is meant, and then InfiniBand is wrong", async () => {
    await makeAdapter(machine, "mlx5_0", { ports: roce });
    expect((await check(["mlx5_0"], { name: "roce-a" })).problems).toEqual([]);
    await makeAdapter(machine, "mlx5_1", { pci: "0000:43:00.0" });
    expect((await check(["mlx5_1"], { name: "roce-a" })).problems[0]).toContain("is InfiniBand, not Ethernet");
  });
});

test("any texts make a port, and only the numbers 4 and 5 make it up", () => {
  const text = fc.option(
    fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "-1", "")),
    { nil: undefined },
  );
  const texts = fc.record({
    hca: fc.string(),
    port: fc.nat(),
    state: text,
    physState: text,
    rate: text,
    linkLayer: text,
    gids: fc.array(fc.oneof(fc.string(), fc.constant("0000:0000:0000:0000:0000:ffff:c633:640d")), { maxLength: 3 }),
    device: text,
    numaNode: text,
  });
  fc.assert(
    fc.property(texts, (all) => {
      const { isUp, rateGbps, linkLayer, numaNode } = portOf(all, []);
      if (isUp) expect(all.state).toMatch(/4: ?/);
      expect(rateGbps).toBeGreaterThanOrEqual(0);
      expect(linkLayer).not.toBe("");
      expect(numaNode === undefined || numaNode >= 0).toBe(true);
    }),
  );
});
