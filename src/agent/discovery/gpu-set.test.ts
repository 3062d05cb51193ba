import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gpu } from "../../../test/fakes/values.ts";
import { gpuUuid } from "../../core/ids.ts";
import { completeGpus, type GpuEvidence } from "./gpu-set.ts";

const card = (nth: number, more = {}) =>
  gpu(`GPU-${String(nth)}`, { index: nth, pciBusId: `0000:0${String(nth)}:00.0`, ...more });
const pci = [0, 1, 2].map((nth) => ({ pciBusId: `0000:0${String(nth)}:00.0`, numaNode: nth > 0 ? 1 : undefined }));
const complete = (evidence: Partial<GpuEvidence>) =>
  completeGpus({ gpus: [], unreachable: [], known: [], pci: [], faults: [], ...evidence });

test("B13 the NUMA node is the bus's word, and none where the firmware has none", () => {
  expect(complete({ gpus: [card(0), card(1)], pci }).map(({ numaNode }) => numaNode)).toEqual([undefined, 1]);
});

describe("B06 a card that cannot be asked", () => {
  const unreachable = [{ index: 1, problem: "lost: x" }];

  test("is known by its place, and the others keep their names and numbers", () => {
    const gpus = complete({ gpus: [card(0), card(2)], unreachable, pci });
    expect(gpus.map(({ uuid, index, problem }) => [uuid, index, problem])).toEqual([
      ["GPU-0", 0, undefined],
      ["0000:01:00.0", 1, "lost: x"],
      ["GPU-2", 2, undefined],
    ]);
  });

  test("keeps the name that it had before", () => {
    const gpus = complete({ gpus: [card(0), card(2)], unreachable, pci, known: [card(0), card(1), card(2)] });
    expect(gpus[1]).toMatchObject({
      uuid: "GPU-1",
      problem: "lost: x",
      memoryTotal: card(1).memoryTotal,
      memoryFree: 0,
    });
    expect(gpus).toHaveLength(3);
  });

  test("keeps it too where its address is all that is told of it", () => {
    const lost = gpu("0000:01:00.0", { index: 1, pciBusId: "0000:01:00.0", problem: "lost: x" });
    expect(complete({ gpus: [card(0), lost], known: [card(0), card(1)] })[1]).toMatchObject({
      uuid: "GPU-1",
      problem: "lost: x",
    });
  });

  test("has a number where even the bus says nothing", () => {
    expect(complete({ gpus: [card(0)], unreachable })[1]).toMatchObject({ uuid: "unreachable-1", index: 1 });
  });
});

describe("a card that was there before", () => {
  test("and is no longer listed is lost, not forgotten", () => {
    expect(complete({ gpus: [card(0)], known: [card(0), card(1)] })).toMatchObject([
      { uuid: "GPU-0", problem: undefined },
      { uuid: "GPU-1", problem: expect.stringContaining("no longer lists it") as unknown },
    ]);
  });

  test("and was cut into slices is in them", () => {
    const slice = gpu("MIG-1", { parent: gpuUuid("GPU-1"), pciBusId: card(1).pciBusId });
    expect(complete({ gpus: [slice], known: [card(1)] })).toEqual([slice]);
  });

  test("slices that are gone are gone", () => {
    const slice = gpu("MIG-1", { parent: gpuUuid("GPU-1"), pciBusId: card(1).pciBusId });
    expect(complete({ gpus: [card(1)], known: [slice] })).toEqual([card(1)]);
  });

  test("and comes back is well again", () => {
    const lost = complete({ gpus: [], known: [card(1)] });
    expect(complete({ gpus: [card(1)], known: lost })).toEqual([card(1)]);
  });
});

describe("the kernel's log", () => {
  const fault = (sentence: string) => ({ faults: [{ pciBusId: "0000:01:00.0", sentence }] });

  test("condemns the card that it names", () => {
    const gpus = complete({ gpus: [card(0), card(1)], ...fault("bad (Xid 95)") });
    expect(gpus.map(({ problem }) => problem)).toEqual([undefined, "bad (Xid 95)"]);
  });

  test("does not condemn a card that fell off the bus and answers again", () => {
    expect(complete({ gpus: [card(1)], ...fault("off (Xid 79)") })[0]?.problem).toBeUndefined();
  });
});

test("nothing known is ever left out, and nothing is there twice", () => {
  const nth = fc.nat({ max: 5 });
  const cards = fc.uniqueArray(nth, { maxLength: 6 });
  fc.assert(
    fc.property(cards, cards, cards, (now, before, broken) => {
      const gpus = now.map((n) => card(n));
      const unreachable = broken.filter((n) => !now.includes(n)).map((index) => ({ index, problem: "lost" }));
      const known = before.map((n) => card(n));
      const places = [0, 1, 2, 3, 4, 5].map((n) => ({ pciBusId: `0000:0${String(n)}:00.0`, numaNode: 0 }));
      const all = complete({ gpus, unreachable, known, pci: places });
      const uuids = all.map(({ uuid }) => uuid);
      expect(new Set(uuids).size).toBe(uuids.length);
      for (const { uuid } of [...gpus, ...known]) expect(uuids).toContain(uuid);
    }),
  );
});
