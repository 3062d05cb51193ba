import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createGpuReader, type GpuOptions } from "./gpus.ts";
import { lastKnownIn } from "./last-known.ts";
import { jetsonGpu } from "./jetson.ts";
import { cardAnswers, compileNvml, machineAnswers } from "../../../test/fakes/nvml-library.ts";
import { makeTree, type Tree } from "../../../test/fakes/sysfs-tree.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { systemClock } from "../../platform/clock.ts";
import { parseMeminfo } from "./meminfo.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-gpus-"));
const standIn = await compileNvml();
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
  await standIn?.remove();
});

const host = parseMeminfo("MemTotal: 64349696 kB\nMemAvailable: 60000000 kB\n");

let tool = "";
let count = 0;
beforeEach(() => {
  tool = join(root, `nvidia-smi-${String(count++)}`);
});

/** A program in the tool's place that prints and ends as told. */
async function toolThat(script: string): Promise<void> {
  await rm(tool, { force: true });
  await writeFile(tool, `#!/bin/sh\n${script}\n`);
  await chmod(tool, 0o755);
}
/** On a machine of which the kernel says nothing but what the test puts there. */
const reader = (more: Partial<GpuOptions> = {}) =>
  createGpuReader({
    tool,
    preferNvml: false,
    env: { PATH: "/usr/bin:/bin" },
    clock: systemClock,
    root: `${tool}-machine`,
    pace: millis(0),
    ...more,
  });

describe("while it runs", () => {
  test("B09 GPUs that cannot be read any more are the last known ones, not none", async () => {
    const read = reader();
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0'");
    expect(await read(host)).toMatchObject({ gpus: [{ uuid: "GPU-a", problem: undefined }], problems: [] });
    await toolThat("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");
    const findings = await read(host);
    expect(findings.gpus).toEqual([
      expect.objectContaining({ uuid: "GPU-a", problem: expect.stringContaining("version mismatch") as unknown }),
    ]);
    expect(findings.problems).toEqual([expect.stringContaining("version mismatch")]);
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0'");
    expect(await read(host)).toMatchObject({ gpus: [{ uuid: "GPU-a", problem: undefined }], problems: [] });
  });

  test("B06 a lost card is a problem of the node, with its name", async () => {
    await toolThat(
      "echo '0, RTX, GPU-a, 24576'; echo 'Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error'; exit 255",
    );
    const { gpus, problems } = await reader()(host);
    expect(gpus).toHaveLength(2);
    expect(problems).toEqual([expect.stringContaining("0000:0B:00.0")]);
  });
});

describe("after a restart of the agent", () => {
  const mismatch = "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18";

  test("B09 the GPUs that were known before are shown while nobody can be asked, and no longer when somebody can", async () => {
    const lastKnown = () => lastKnownIn(`${tool}-gpus.json`);
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0'");
    await reader({ lastKnown: lastKnown() })(host);
    await toolThat(mismatch);
    const read = reader({ lastKnown: lastKnown() });
    expect((await read(host)).gpus).toMatchObject([
      {
        uuid: "GPU-a",
        memoryTotal: 40_960 * 1024 * 1024,
        problem: expect.stringContaining("version mismatch") as unknown,
      },
    ]);
    await toolThat("echo '0, NVIDIA A100, GPU-b, 40960, 40000, 960, 550, 8.0, 0000:02:00.0'");
    expect((await read(host)).gpus).toMatchObject([{ uuid: "GPU-b", problem: undefined }]);
  });

  test.each(["", "{", '{"gpus":[{"index":-1}]}', "[]"])(
    "a file that holds %j is no memory and no failure",
    async (text) => {
      await writeFile(`${tool}-gpus.json`, text);
      await toolThat(mismatch);
      expect((await reader({ lastKnown: lastKnownIn(`${tool}-gpus.json`) })(host)).gpus).toEqual([]);
    },
  );

  test("a place that cannot be written to costs the memory alone", async () => {
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960'");
    const { gpus } = await reader({ lastKnown: lastKnownIn(`${tool}/gpus.json`) })(host);
    expect(gpus).toMatchObject([{ uuid: "GPU-a" }]);
  });
});

test("a tool that hangs has a deadline, and the cards it told of before stay known", async () => {
  const read = reader({ deadline: millis(300) });
  await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960'");
  await read(host);
  await toolThat("sleep 600");
  expect(await read(host)).toMatchObject({
    gpus: [{ uuid: "GPU-a", problem: expect.stringContaining("cannot be read now") as unknown }],
    problems: [expect.stringContaining("did not answer within 0.3 s")],
  });
});

test("a tool that was named and is not there is a problem", async () => {
  expect(await reader()(host)).toMatchObject({ gpus: [], problems: [expect.stringContaining("discovery.nvidia_smi")] });
});

test("a tool that may not be executed is a problem", async () => {
  await writeFile(tool, "#!/bin/sh\n");
  await chmod(tool, 0o644);
  expect((await reader()(host)).problems).toEqual([expect.stringContaining("may not be executed")]);
});

test("an old tool is asked without the column it does not know", async () => {
  await toolThat(
    `case "$*" in *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;; esac\n` +
      "echo '0, Tesla K80, GPU-k, 11441, 11000, 441, 470.1, 0000:05:00.0'",
  );
  expect((await reader()(host)).gpus).toMatchObject([{ uuid: "GPU-k", driverVersion: "470.1", computeCapability: "" }]);
});

describe("B03 a board without the tool", () => {
  test("has one GPU with the host's memory, and no NUL in its name", () => {
    expect(jetsonGpu("NVIDIA Jetson AGX Orin Developer Kit\0", host)).toMatchObject({
      name: "NVIDIA Jetson AGX Orin Developer Kit",
      unified: true,
      memoryTotal: 65_894_088_704,
    });
  });

  test.each(["Raspberry Pi 5 Model B Rev 1.0\0", "linux,dummy-virt\0", ""])("%j has none", (board) => {
    expect(jetsonGpu(board, host)).toBeUndefined();
  });
});

/** What the kernel shows of the machine beneath the reader. */
const machine = (tree: Tree) => makeTree(`${tool}-machine`, tree);
const LOADED: Tree = {
  proc: { driver: { nvidia: { version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Mon\n" } } },
};
const CARD: Tree = { vendor: "0x10de\n", class: "0x030200\n", numa_node: "1\n" };
const onBus = (...addresses: readonly string[]): Tree => ({
  bus: { pci: { devices: Object.fromEntries(addresses.map((address) => [address, CARD])) } },
});

describe.skipIf(standIn === undefined)("NVML before nvidia-smi", () => {
  const withLibrary = async (answers: readonly string[]) => {
    const library = (await standIn?.library(answers)) ?? "";
    return { library, read: reader({ preferNvml: true, libraries: [library] }) };
  };

  test("one of the two, and why not the other", async () => {
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960'");
    const { read } = await withLibrary(machineAnswers(1, [cardAnswers(0)]));
    expect(await read(host)).toMatchObject({
      gpus: [{ uuid: "GPU-0" }],
      problems: [],
      notes: [expect.stringMatching(/^GPUs are read by NVML/)],
    });
    const { notes, gpus } = await reader({ preferNvml: true, libraries: ["libnot-there.so.9"] })(host);
    expect(gpus).toMatchObject([{ uuid: "GPU-a" }]);
    expect(notes).toEqual([`GPUs are read by ${tool}`, expect.stringContaining("NVML is not used: libnot-there.so.9")]);
  });

  test("where it does not start, the tool may still answer", async () => {
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960'");
    const { read } = await withLibrary(["init = !9"]);
    expect(await read(host)).toMatchObject({
      gpus: [{ uuid: "GPU-a" }],
      notes: [expect.anything(), expect.stringContaining("NVML_ERROR_DRIVER_NOT_LOADED")],
    });
  });

  test("B09 versions that differ, without a tool", async () => {
    const { library, read } = await withLibrary(machineAnswers(1, [cardAnswers(0)]));
    await read(host);
    await standIn?.change(library, ["init = !18"]);
    await rm(tool, { force: true });
    expect(await read(host)).toMatchObject({
      gpus: [{ uuid: "GPU-0", problem: expect.stringContaining("cannot be read now") as unknown }],
      problems: [expect.stringContaining("there is no program")],
    });
    const alone = createGpuReader({
      ...{
        tool: "",
        preferNvml: true,
        libraries: [library],
        env: { PATH: "" },
        clock: systemClock,
        root: "/not/there",
      },
    });
    expect((await alone(host)).problems).toEqual([
      expect.stringMatching(/^driver: .*NVML_ERROR_LIB_RM_VERSION_MISMATCH/),
    ]);
  });

  test("B10 no permission has its own word", async () => {
    const { library } = await withLibrary(["init = !4"]);
    const options = { tool: "", preferNvml: true, libraries: [library], env: { PATH: "" }, root: "/not/there" };
    const { problems } = await createGpuReader({ ...options, clock: systemClock })(host);
    expect(problems).toEqual([expect.stringMatching(/^permission: /)]);
  });

  test("B06 a card that falls off the bus keeps its name and place, B13 and the others their NUMA node", async () => {
    await machine({ sys: onBus("0000:1b:00.0", "0000:1c:00.0") });
    const { library, read } = await withLibrary(machineAnswers(2, [cardAnswers(0), cardAnswers(1)]));
    expect((await read(host)).gpus).toMatchObject([{ numaNode: 1 }, { numaNode: 1 }]);
    await standIn?.change(library, machineAnswers(2, [cardAnswers(0), ["gpu 1 handle = !15"]]));
    const { gpus, problems } = await read(host);
    expect(gpus).toMatchObject([
      { uuid: "GPU-0", problem: undefined },
      { uuid: "GPU-1", pciBusId: "0000:1c:00.0", problem: expect.stringMatching(/^lost: /) as unknown },
    ]);
    expect(problems).toEqual([expect.stringMatching(/^GPU 1 \(GPU-1\): lost: /)]);
  });

  test("cards that vanish all at once are lost, not none", async () => {
    const { library, read } = await withLibrary(machineAnswers(2, [cardAnswers(0), cardAnswers(1)]));
    await read(host);
    await standIn?.change(library, machineAnswers(0, []));
    expect((await read(host)).gpus).toMatchObject([
      { uuid: "GPU-0", problem: expect.stringContaining("no longer lists it") as unknown },
      { uuid: "GPU-1", problem: expect.stringContaining("no longer lists it") as unknown },
    ]);
  });

  test("the kernel's log condemns the card that it names", async () => {
    await machine({ dev: { kmsg: "4,1,1,-;NVRM: Xid (PCI:0000:1c:00): 95, pid=1, name=x, Uncontained error\n" } });
    const { read } = await withLibrary(machineAnswers(2, [cardAnswers(0), cardAnswers(1)]));
    expect((await read(host)).gpus).toMatchObject([
      { problem: undefined },
      { problem: expect.stringContaining("Xid 95") as unknown },
    ]);
    expect((await read(host)).gpus[1]?.problem).toContain("Xid 95");
  });

  test("memory of the card's own that the kernel counts as the host's is told", async () => {
    const meminfo = "Node 2 MemTotal:       99614720 kB\nNode 2 MemFree:        99000000 kB\n";
    await machine({ sys: { devices: { system: { node: { node2: { meminfo } } } } } });
    const { read } = await withLibrary(machineAnswers(1, [cardAnswers(0, { numa: "2" })]));
    expect((await read(host)).countedTwice).toEqual([{ total: 99_614_720 * 1024, available: 99_000_000 * 1024 }]);
  });
});

describe("the driver, by what the kernel shows", () => {
  const nobody = (more: Partial<GpuOptions> = {}) => reader({ tool: "", env: { PATH: "" }, preferNvml: true, ...more });

  test("no driver and no card is a machine without GPUs", async () => {
    expect(await nobody()(host)).toEqual({ gpus: [], countedTwice: [], problems: [], notes: [] });
  });

  test("a card that nobody installed a driver for is a note", async () => {
    await machine({ sys: onBus("0000:1b:00.0") });
    expect(await nobody()(host)).toMatchObject({ problems: [], notes: [expect.stringContaining("(0000:1b:00.0)")] });
  });

  test("a tool that cannot reach the driver of a card that is there is a problem", async () => {
    await machine({ sys: onBus("0000:1b:00.0") });
    await toolThat('echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."; exit 9');
    expect((await reader()(host)).problems).toEqual([expect.stringContaining("no NVIDIA driver is loaded")]);
  });

  test("a driver that is loaded and nobody can be asked about is a problem", async () => {
    await machine({ ...LOADED, dev: { nvidiactl: "" } });
    const { problems } = await nobody()(host);
    expect(problems).toEqual([expect.stringContaining("neither its library NVML nor nvidia-smi is found")]);
  });

  test("a driver without its device files is a problem", async () => {
    await machine(LOADED);
    expect((await nobody()(host)).problems).toEqual([
      expect.stringContaining("570.86.15 is loaded, but there is no /dev/nvidiactl"),
    ]);
  });
});

describe("with nvidia-smi alone", () => {
  const ROWS =
    "echo '0, A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0, Disabled, 0, No'\necho '1, A100, GPU-b, [N/A], [N/A], [N/A], 550, 8.0, 0000:02:00.0, Enabled, 0, No'";

  test("links come from its matrix and slices from its list", async () => {
    await toolThat(
      `case "$*" in\n"topo -m") printf '\\t\\033[4mGPU0\\tGPU1\\tCPU Affinity\\033[0m\\nGPU0\\t X \\tNV12\\t0-7\\nGPU1\\tNV12\\t X \\t\\n';;\n` +
        `-L) echo 'GPU 0: A100 (UUID: GPU-a)'; echo 'GPU 1: A100 (UUID: GPU-b)'; echo '  MIG 3g.20gb     Device  0: (UUID: MIG-x)';;\n` +
        `*) ${ROWS};;\nesac`,
    );
    expect(await reader()(host)).toMatchObject({
      gpus: [
        { uuid: "GPU-a", links: [{ to: "GPU-b", kind: "nvlink", lanes: 12 }], parent: undefined },
        {
          uuid: "MIG-x",
          parent: "GPU-b",
          name: "A100 MIG 3g.20gb",
          memoryTotal: 20e9,
          unified: false,
          problem: undefined,
        },
      ],
      problems: [],
    });
  });

  test("a card that is to be cut and is not cannot be used", async () => {
    await toolThat(`case "$*" in topo*) exit 1;; -L) :;; *) ${ROWS};; esac`);
    expect((await reader()(host)).gpus).toMatchObject([
      { uuid: "GPU-a", links: [] },
      { uuid: "GPU-b", unified: false, problem: expect.stringContaining("no instance") as unknown },
    ]);
  });

  test.each([
    { cells: "3, No", problem: /^3 uncorrected memory errors/ },
    { cells: "0, Yes", problem: /waits to be retired/ },
    { cells: "[N/A], [N/A]", problem: undefined },
  ])("memory faults: $cells", async ({ cells, problem }) => {
    await toolThat(`echo '0, A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0, [N/A], ${cells}'`);
    const [gpu] = (await reader()(host)).gpus;
    if (problem === undefined) expect(gpu?.problem).toBeUndefined();
    else expect(gpu?.problem).toMatch(problem);
  });

  test.each([
    { rows: "GPU-a, Yes, No", problem: /waits to be replaced/ },
    { rows: "GPU-a, No, Yes", problem: /the card itself has to be/ },
    { rows: "GPU-a, No, No", problem: undefined },
    { rows: "GPU-b, Yes, Yes", problem: undefined },
    { rows: "rubbish", problem: undefined },
  ])("rows of memory: $rows", async ({ rows, problem }) => {
    await toolThat(
      `case "$*" in *remapped*) echo '${rows}';; *) echo '0, A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0';; esac`,
    );
    const [gpu] = (await reader()(host)).gpus;
    if (problem === undefined) expect(gpu?.problem).toBeUndefined();
    else expect(gpu?.problem).toMatch(problem);
  });

  test("a tool that knows none of the newer columns answers for the others", async () => {
    await toolThat(
      `for column in compute_cap mig.mode.current retired_pages.pending; do\n` +
        `case "$*" in *$column*) echo "Field \\"$column\\" is not a valid field to query."; exit 2;; esac\ndone\n` +
        "echo '0, Tesla K80, GPU-k, 11441, 11000, 441, 470.1, 0000:05:00.0, 0'",
    );
    expect((await reader()(host)).gpus).toMatchObject([
      { uuid: "GPU-k", pciBusId: "0000:05:00.0", problem: undefined },
    ]);
  });

  test("a tool that refuses a column which it was not asked for has a reason, and an end", async () => {
    await toolThat(`echo 'Field "other" is not a valid field to query.'; exit 2`);
    expect((await reader()(host)).problems).toEqual([expect.stringContaining("does not know other")]);
  });
});

test("a tool that hangs at a later question is one that hangs", async () => {
  await toolThat(`case "$*" in *query-gpu*) echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960';; *) sleep 600;; esac`);
  expect((await reader({ deadline: millis(500) })(host)).problems).toEqual([
    expect.stringContaining("did not answer within 0.5 s"),
  ]);
});

test("a slow tool keeps nobody waiting who knows something: what it says is there at a later look", async () => {
  const impatient = {
    ...systemClock,
    after: (_: Millis, callback: () => void) => systemClock.after(millis(0), callback),
  };
  const read = reader({ clock: impatient });
  await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960'");
  await read(host);
  await toolThat(
    `until [ -e ${tool}-go ]; do sleep 0.01; done; echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960'; echo '1, NVIDIA A100, GPU-b, 40960, 40000, 960'`,
  );
  expect((await read(host)).gpus).toHaveLength(1);
  await writeFile(`${tool}-go`, "");
  await expect.poll(async () => (await read(host)).gpus).toHaveLength(2);
});

test("findings are kept for a while, since each look costs something", async () => {
  await toolThat(`echo x >> ${tool}-looks; echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960'`);
  const read = reader({ pace: millis(60_000) });
  expect(await read(host)).toBe(await read(host));
  const asked = await readFile(`${tool}-looks`, "utf8");
  await read(host);
  expect(await readFile(`${tool}-looks`, "utf8")).toBe(asked);
});
