import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeTree } from "../../../test/fakes/sysfs-tree.ts";
import { createDriverReader, driverProblem, isLoaded, isReachable } from "./driver-evidence.ts";

const base = await mkdtemp(join(tmpdir(), "llmgw-driver-"));
afterAll(() => rm(base, { recursive: true, force: true }));

test("a machine is read as the kernel shows it", async () => {
  const root = join(base, "a");
  const gpu = (more: object = {}) => ({ vendor: "0x10de\n", class: "0x030000\n", numa_node: "-1\n", ...more });
  await makeTree(root, {
    proc: {
      driver: { nvidia: { version: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.91.07  Release\n" } },
    },
    dev: { nvidiactl: "", nvidia0: "", "nvidia-uvm": "", "nvidia-caps": {}, null: "" },
    sys: {
      bus: {
        pci: {
          devices: {
            "0000:1b:00.0": gpu(),
            "0000:1b:00.1": gpu({ class: "0x040300\n" }),
            "0000:43:00.0": gpu({ class: "0x030200\n", numa_node: "1\n" }),
            "0000:65:00.0": gpu({ driver: "-> ../../../drivers/vfio-pci" }),
            "0000:00:02.0": gpu({ vendor: "0x8086\n" }),
            rubbish: gpu(),
          },
        },
      },
    },
  });
  const reader = createDriverReader(root);
  const evidence = await reader.read();
  expect(evidence).toEqual({
    version: "595.91.07",
    devices: ["nvidia-uvm", "nvidia0", "nvidiactl"],
    cards: [
      { pciBusId: "0000:1b:00.0", numaNode: undefined },
      { pciBusId: "0000:43:00.0", numaNode: 1 },
    ],
  });
  expect(driverProblem(evidence)).toBeUndefined();
  expect(await reader.read()).toEqual(evidence);
});

test("the module's own file will do, and WSL shows neither", async () => {
  await makeTree(join(base, "b"), { sys: { module: { nvidia: { version: "550.1\n" } } } });
  expect(await createDriverReader(join(base, "b")).read()).toMatchObject({ version: "550.1", devices: [] });
  await makeTree(join(base, "c"), { dev: { dxg: "" } });
  const wsl = await createDriverReader(join(base, "c")).read();
  expect([isLoaded(wsl), driverProblem(wsl)]).toEqual([true, undefined]);
});

test("a container that shows nothing but the device files can still be asked", async () => {
  await makeTree(join(base, "d"), { dev: { nvidiactl: "", nvidia3: "" } });
  const evidence = await createDriverReader(join(base, "d")).read();
  expect([isLoaded(evidence), isReachable(evidence), driverProblem(evidence)]).toEqual([false, true, undefined]);
});

test("nothing at all", async () => {
  const evidence = await createDriverReader(join(base, "not-there")).read();
  expect(evidence).toEqual({ version: undefined, devices: [], cards: [] });
  expect([isReachable(evidence), driverProblem(evidence)]).toEqual([false, undefined]);
});
