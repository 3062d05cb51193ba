import { describe, expect, test } from "vitest";
import { engineArchive, packArchive } from "../../../test/fakes/engine-archive.ts";
import { CPU, CUDA, CUDART, github, InstallBench, pathOf, request } from "../../../test/fakes/install-bench.ts";
import { glibcVersion } from "../../platform/libc.ts";

const { arch } = process;

const bench = new InstallBench();

describe("for GPUs", () => {
  const driver = { gpuDriver: () => Promise.resolve({ version: "570.124.06" }) };
  const hasBuilds = arch === "x64" && glibcVersion() !== undefined;
  if (!hasBuilds) console.log("skipped: builds for CUDA are for x64 with glibc, which this machine is not");

  async function publishCuda(devicesWith: string): Promise<void> {
    const cuda = await engineArchive({ version: "b5", devicesWith });
    const runtime = await packArchive({
      "cudart-llama-b5/libcudart.so.12.8.90": "runtime",
      "cudart-llama-b5/libcudart.so.12": { linkTo: "libcudart.so.12.8.90" },
    });
    const cpu = await engineArchive({ version: "b5" });
    bench.server.releases = [{ tag: "b5", assets: { [CUDART("b5")]: runtime, [CPU("b5")]: cpu, [CUDA("b5")]: cuda } }];
  }

  test.runIf(hasBuilds)("the CUDA build with its runtime beside it", async () => {
    await publishCuda("libcudart.so.12");
    const build = await bench.ensure(github("b5"), driver);
    expect(build).toMatchObject({ version: "b5", devices: ["CUDA0"] });
    expect(pathOf(build)).toContain("/b5-cuda-12.8/");
  });

  test.runIf(hasBuilds)("a CUDA build that sees no GPU is not taken: the CPU's is", async () => {
    await publishCuda("libcudart.so.99");
    const engines = bench.provider(driver);
    const outcome = await engines.ensure("llama.cpp", github("b5"), request());
    expect(outcome).toMatchObject({ ok: true, value: { version: "b5", devices: [] } });
    expect(outcome.ok ? outcome.value.path : "").toContain("/b5-cpu/");
    expect((await engines.found("llama.cpp")).refusals).toEqual([
      "cuda-12.8 of b5: it sees no GPU: a library of the driver or of CUDA cannot be loaded",
    ]);
    expect(await bench.leftovers()).toEqual([]);
  });

  test.runIf(hasBuilds)(
    "B71 with a driver of unknown version no CUDA build is guessed, and the node says so",
    async () => {
      await publishCuda("libcudart.so.12");
      const engines = bench.provider({ gpuDriver: () => Promise.resolve({ version: "" }) });
      expect(await engines.ensure("llama.cpp", github("b5"), request())).toMatchObject({
        ok: true,
        value: { devices: [] },
      });
      expect((await engines.found("llama.cpp")).refusals.join()).toContain("so no CUDA build is guessed");
      expect(bench.server.fileRequests.filter((one) => one.path.includes("cuda"))).toEqual([]);
    },
  );

  test.runIf(hasBuilds)("what was installed before there was a driver is looked for anew", async () => {
    await publishCuda("libcudart.so.12");
    expect(await bench.ensure(github("b5"))).toMatchObject({ devices: [] });
    expect(await bench.ensure(github("b5"), driver)).toMatchObject({ devices: ["CUDA0"] });
    const { builds } = await bench.provider(driver).found("llama.cpp");
    expect(builds.length).toBe(2);
  });
});
