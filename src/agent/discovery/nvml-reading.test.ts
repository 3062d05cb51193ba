import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { cardAnswers, compileNvml, machineAnswers } from "../../../test/fakes/nvml-library.ts";
import { millis } from "../../core/ids.ts";
import { type NvmlAnswer, parseNvmlAnswer } from "../../platform/nvml-answer.ts";
import { readNvml } from "../../platform/nvml.ts";
import { parseMeminfo } from "./meminfo.ts";
import { readNvmlGpus } from "./nvml-reading.ts";

const host = parseMeminfo("MemTotal: 125489152 kB\nMemAvailable: 7790016 kB\n");
const standIn = await compileNvml();
afterAll(() => standIn?.remove());

const ask = (library: string, deadline = 15_000) =>
  readNvml({ libraries: [library], env: process.env, deadline: millis(deadline) });

/** What the compiled library's answers come to, through the real binding. */
async function gpusOf(answers: readonly string[]) {
  if (standIn === undefined) throw new Error("no compiler");
  const answer = await ask(await standIn.library(answers));
  if (answer.kind !== "read") throw new Error(JSON.stringify(answer));
  return readNvmlGpus(answer, host);
}

const links = ({ gpus }: Awaited<ReturnType<typeof gpusOf>>) =>
  gpus.map((gpu) => gpu.links.map(({ to, kind, lanes }) => `${to} ${kind}${lanes > 0 ? ` ${String(lanes)}` : ""}`));

test("no library is no failure", async () => {
  expect(await ask("libnot-there.so.9")).toMatchObject({
    kind: "notLoaded",
    reason: expect.stringContaining("libnot-there") as unknown,
  });
});

test("a file that is no library", async () => {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-elf-"));
  await writeFile(join(folder, "x.so"), "not ELF");
  expect(await ask(join(folder, "x.so"))).toMatchObject({ kind: "notLoaded" });
  await rm(folder, { recursive: true });
});

describe.skipIf(standIn === undefined)("through a compiled library", () => {
  test("two cards that are well, one NUMA node apart", async () => {
    const read = await gpusOf(machineAnswers(2, [cardAnswers(0), cardAnswers(1)]));
    expect(read.unreachable).toEqual([]);
    expect(read.gpus[0]).toEqual({
      uuid: "GPU-0",
      index: 0,
      name: "NVIDIA H100 80GB HBM3",
      memoryTotal: 85_520_809_984,
      memoryFree: 85_000_000_000,
      unified: false,
      problem: undefined,
      driverVersion: "570.86.15",
      computeCapability: "9.0",
      pciBusId: "0000:1b:00.0",
      numaNode: undefined,
      links: [{ to: "GPU-1", kind: "node", lanes: 0 }],
      parent: undefined,
    });
  });

  test("pairs of cards with bridges between them", async () => {
    const bus = (n: number) => `00000000:${(0x1b + n).toString(16)}:00.0`;
    const bridged = (n: number, other: number) =>
      cardAnswers(n, {
        links: "4",
        "link 0": `0 ${bus(other)}`,
        "link 1": `0 ${bus(other)}`,
        "link 3": `0 ${bus(other)}`,
      });
    const cards = [bridged(0, 1), bridged(1, 0), bridged(2, 3), bridged(3, 2)];
    expect(links(await gpusOf(machineAnswers(4, cards)))).toEqual([
      ["GPU-1 nvlink 3", "GPU-2 node", "GPU-3 node"],
      ["GPU-0 nvlink 3", "GPU-2 node", "GPU-3 node"],
      ["GPU-0 node", "GPU-1 node", "GPU-3 nvlink 3"],
      ["GPU-0 node", "GPU-1 node", "GPU-2 nvlink 3"],
    ]);
  });

  const switched = (n: number) =>
    cardAnswers(n, {
      links: "18",
      fabric: "3 0 0",
      ...Object.fromEntries(Array.from({ length: 18 }, (_, link) => [`link ${String(link)}`, "2 00000000:CA:00.0"])),
    });

  test("behind a switch everybody reaches everybody, although each link leads to the switch", async () => {
    const read = await gpusOf([...machineAnswers(3, [0, 1, 2].map(switched)), "p2p = 0"]);
    expect(links(read)[0]).toEqual(["GPU-1 nvlink 18", "GPU-2 nvlink 18"]);
    expect(read.gpus.map(({ problem }) => problem)).toEqual([undefined, undefined, undefined]);
  });

  test("a switch that is not ready links nobody, and its cards cannot be used", async () => {
    const waiting = (n: number) => [
      ...switched(n).filter((line) => !line.includes("fabric")),
      `gpu ${String(n)} fabric = 2 0 0`,
    ];
    const read = await gpusOf([...machineAnswers(2, [waiting(0), waiting(1)]), "p2p = 5"]);
    expect(links(read)[0]).toEqual(["GPU-1 node"]);
    expect(read.gpus[0]?.problem).toContain("fabric manager has not finished");
  });

  test("a card cut into slices is its slices", async () => {
    const cut = cardAnswers(0, {
      mig: "1 1",
      memory: "!4",
      slices: "7",
      "slice 0 uuid": "MIG-a",
      "slice 0 name": "NVIDIA A100 MIG 3g.20gb",
      "slice 0 memory": "20937965568 20900000000 37965568",
      "slice 4 uuid": "MIG-b",
      "slice 4 memory": "20937965568 100 1",
    });
    const { gpus } = await gpusOf(machineAnswers(2, [cut, cardAnswers(1)]));
    expect(gpus).toMatchObject([
      {
        uuid: "MIG-a",
        parent: "GPU-0",
        index: 0,
        name: "NVIDIA A100 MIG 3g.20gb",
        memoryTotal: 20_937_965_568,
        problem: undefined,
      },
      { uuid: "MIG-b", parent: "GPU-0", memoryFree: 100, computeCapability: "9.0" },
      { uuid: "GPU-1", parent: undefined },
    ]);
  });

  test("a card that is to be cut and is not cannot be used", async () => {
    const { gpus } = await gpusOf(machineAnswers(1, [cardAnswers(0, { mig: "1 1", slices: "7" })]));
    expect(gpus).toMatchObject([{ uuid: "GPU-0", problem: expect.stringContaining("no instance") as unknown }]);
  });

  test.each([
    { name: "lost", change: { memory: "!15" }, problem: /^lost: .*NVML_ERROR_GPU_IS_LOST/ },
    { name: "in need of a reset", change: { memory: "!16" }, problem: /needs a reset/ },
    { name: "with memory errors", change: { ecc: "3" }, problem: /^3 uncorrected memory errors/ },
    { name: "with a row to be replaced", change: { remapped: "0 1 1 0" }, problem: /waits to be replaced/ },
    { name: "with a row that could not be", change: { remapped: "0 1 0 1" }, problem: /the card itself has to be/ },
    { name: "with a page to be retired", change: { retired: "1" }, problem: /waits to be retired/ },
    { name: "whose fabric failed", change: { fabric: "3 999 0" }, problem: /fabric manager failed/ },
    { name: "whose fabric has not begun", change: { fabric: "1 0 0" }, problem: /Start nvidia-fabricmanager/ },
    { name: "whose memory is not to be read", change: { memory: "!999" }, problem: /memory cannot be read/ },
  ])("B06 a card $name is that card's problem alone", async ({ change, problem }) => {
    const { gpus } = await gpusOf(machineAnswers(2, [cardAnswers(0, change), cardAnswers(1)]));
    expect(gpus).toMatchObject([
      { uuid: "GPU-0", unified: false },
      { uuid: "GPU-1", problem: undefined },
    ]);
    expect(gpus[0]?.problem).toMatch(problem);
  });

  test("B06 a card that is not given at all leaves the others their numbers", async () => {
    const read = await gpusOf(machineAnswers(3, [cardAnswers(0), ["gpu 1 handle = !15"], cardAnswers(2)]));
    expect(read.gpus.map(({ uuid, index }) => [uuid, index])).toEqual([
      ["GPU-0", 0],
      ["GPU-2", 2],
    ]);
    expect(read.unreachable).toEqual([{ index: 1, problem: expect.stringMatching(/^lost: /) as unknown }]);
  });

  test("B10 cards that may not be opened are counted, with the reason", async () => {
    const read = await gpusOf(machineAnswers(1, [["gpu 0 handle = !4"]]));
    expect(read.unreachable[0]?.problem).toContain("NVML_ERROR_NO_PERMISSION");
  });

  test.each(["NVIDIA GB10", "Some future board"])("B01 %s without memory of its own has the host's", async (name) => {
    const { gpus } = await gpusOf(machineAnswers(1, [cardAnswers(0, { name, memory: "!3", bus: "0000000F:01:00.0" })]));
    expect(gpus).toMatchObject([
      {
        unified: true,
        memoryTotal: 128_500_891_648,
        memoryFree: 7_976_976_384,
        pciBusId: "000f:01:00.0",
        problem: undefined,
      },
    ]);
  });

  test("B02 a GB10 that counts only its own side", async () => {
    const { gpus } = await gpusOf(
      machineAnswers(1, [cardAnswers(0, { name: "NVIDIA GB10", memory: "127605411840 123731968000 3873443840" })]),
    );
    expect(gpus).toMatchObject([{ unified: true, memoryFree: 7_976_976_384 }]);
  });

  test("memory of a card that the kernel counts as the host's is named by its node", async () => {
    expect((await gpusOf(machineAnswers(1, [cardAnswers(0, { numa: "2" })]))).memoryNodes).toEqual([2]);
  });

  test("B09 versions that differ", async () => {
    const library = (await standIn?.library(["init = !18"])) ?? "";
    expect(await ask(library)).toEqual({ kind: "failed", library, call: "nvmlInit_v2", code: 18 });
  });

  test("a driver that hangs has a deadline", async () => {
    const library = (await standIn?.library([...machineAnswers(1, [cardAnswers(0, { memory: "hang" })])])) ?? "";
    expect(await ask(library, 1_000)).toEqual({
      kind: "noAnswer",
      reason: expect.stringContaining("did not answer within 1 s") as unknown,
      hung: true,
    });
  });

  test("a library that crashes takes nobody along", async () => {
    const library = (await standIn?.library([...machineAnswers(1, [cardAnswers(0, { memory: "crash" })])])) ?? "";
    expect(await ask(library)).toMatchObject({
      kind: "noAnswer",
      reason: expect.stringContaining("SIGABRT") as unknown,
      hung: false,
    });
  });
});

describe("answers of the program that asks", () => {
  const whole: NvmlAnswer = { kind: "read", library: "x", driver: "1", cards: [], pairs: [] };
  test("are the last line that looks like one", () => {
    expect(parseNvmlAnswer(`a driver's chatter\n${JSON.stringify(whole)}\n`)).toEqual(whole);
  });
  test.each(["", '{"kind":', '{"kind":"read"}', '{"kind":"else"}', '{"kind":"read","cards":[1]}', "\u0000"])(
    "%j is none",
    (text) => {
      expect(parseNvmlAnswer(text)).toBeUndefined();
    },
  );
});

const device = {
  texts: fc.dictionary(fc.constantFrom("uuid", "name", "busId"), fc.string()),
  numbers: fc.dictionary(
    fc.constantFrom("memory", "compute", "mig", "ecc", "remapped", "fabric", "memoryNode"),
    fc.array(fc.oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true })), { maxLength: 4 }),
  ),
  failed: fc.dictionary(fc.constantFrom("memory", "uuid"), fc.nat({ max: 1000 })),
};

test("whatever the library says, it is read, and no memory is invented", () => {
  const card = fc.record({
    ...device,
    index: fc.nat({ max: 3 }),
    code: fc.constantFrom(0, 0, 15),
    nvlinks: fc.array(fc.record({ kind: fc.nat({ max: 255 }), remote: fc.string() }), { maxLength: 3 }),
    slices: fc.array(fc.record(device), { maxLength: 2 }),
  });
  const index = fc.nat({ max: 4 });
  const pair = fc.record({
    a: index,
    b: index,
    ancestor: fc.integer({ min: -1, max: 60 }),
    p2p: fc.integer({ min: -1, max: 6 }),
  });
  const answer = fc.record({
    kind: fc.constant("read" as const),
    library: fc.string(),
    driver: fc.string(),
    cards: fc.array(card, { maxLength: 4 }),
    pairs: fc.array(pair, { maxLength: 6 }),
  });
  fc.assert(
    fc.property(answer, (all) => {
      expect(parseNvmlAnswer(JSON.stringify(all))).toEqual(JSON.parse(JSON.stringify(all)));
      for (const { memoryTotal, memoryFree } of readNvmlGpus(all, host).gpus) {
        expect(Number.isSafeInteger(memoryTotal) && memoryTotal >= 0).toBe(true);
        expect(Number.isSafeInteger(memoryFree) && memoryFree >= 0).toBe(true);
      }
    }),
  );
});
