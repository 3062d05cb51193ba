import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PythonBench, standIn } from "../../../../test/fakes/python-bench.ts";

const bench = new PythonBench({ hasUv: false });
const containing = (text: string): string => expect.stringContaining(text) as string;

describe("which uv", { timeout: 60_000 }, () => {
  test("it is fetched from the index once, and not again for another version", async () => {
    bench.publish(standIn("1.0"));
    bench.publish(standIn("2.0"));
    await bench.ensure("1.0", "pypi");
    expect(bench.seen[0]?.what).toMatch(/^uv \d/);
    const fetched = bench.requests().filter((path) => path.startsWith("/packages/uv-"));
    expect(fetched).not.toEqual([]);
    expect(await bench.ensure("2.0", "pypi")).toMatchObject({ version: "2.0" });
    expect(bench.requests().filter((path) => path.startsWith("/packages/uv-"))).toEqual(fetched);
  });

  test("a folder of wheels brings it", async () => {
    const folder = await bench.wheelhouse([standIn("1.0"), { project: "small-helper", version: "3.1" }]);
    await bench.index?.close();
    expect(await bench.ensure("1.0", folder)).toMatchObject({ version: "1.0" });
  });

  test("a folder without uv, and none on PATH", async () => {
    const folder = await bench.wheelhouse([standIn("1.0")], false);
    expect(await bench.ensure("1.0", folder)).toMatchObject({
      kind: "missing-tool",
      message: `${folder} holds no wheel of uv for this machine, and uv is not on PATH: put it there, or name it as engines.uv.bin`,
      retry: false,
    });
  });

  test("one on PATH is used, and none is fetched", async () => {
    bench.publish(standIn("1.0"));
    await bench.ensure("1.0", "pypi");
    await rename(await bench.fetchedUv(), join(bench.base, "bin/uv"));
    await rm(bench.enginesDir, { recursive: true });
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({ version: "1.0" });
    expect(await readdir(bench.enginesDir)).not.toContain("uv");
  });

  test("one on PATH that is too old or does not run is passed over", async () => {
    bench.publish(standIn("1.0"));
    await bench.script("bin/uv", "echo 'uv 0.5.1'");
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({ version: "1.0" });
  });

  test("a configured one that will not do is a reason, and nothing else is tried", async () => {
    const uv = await bench.script("mine/uv", "echo 'uv 0.5.1'");
    expect(await bench.ensure("1.0", "pypi", { uv })).toMatchObject({
      kind: "missing-tool",
      message: `the configured uv ${uv} is 0.5.1, and 0.7.14 or newer is needed`,
    });
    expect(bench.requests()).toEqual([]);
  });

  test("its own wheel with the wrong bytes is not run", async () => {
    bench.publish(standIn("1.0"));
    const [wheel] = bench.projects["uv"] ?? [];
    if (wheel !== undefined) bench.projects["uv"] = [{ ...wheel, sha256: "0".repeat(64) }];
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({ kind: "checksum", retry: false });
    expect(await readdir(join(bench.enginesDir, "uv")).catch(() => [])).toEqual([]);
  });

  test("an index that has none", async () => {
    bench.publish(standIn("1.0"));
    delete bench.projects["uv"];
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({
      kind: "not-found",
      message: containing("uv: 127.0.0.1:"),
    });
  });
});
