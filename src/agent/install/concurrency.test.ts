import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { github, InstallBench, pathOf, request } from "../../../test/fakes/install-bench.ts";

const bench = new InstallBench();

describe("at the same time", () => {
  test("callers for the same share one installation", async () => {
    await bench.publish("b1");
    const engines = bench.provider();
    const all = await Promise.all([1, 2, 3].map(() => engines.ensure("llama.cpp", github("b1"), request())));
    expect(all.every((outcome) => outcome.ok)).toBe(true);
    expect(bench.server.apiRequests.length).toBe(1);
    expect(await readdir(join(bench.enginesDir, "llama.cpp"))).toEqual(expect.arrayContaining(["b1-cpu"]));
  });

  test("an abort ends it and leaves nothing", async () => {
    await bench.publish("b1");
    const stop = new AbortController();
    bench.server.interceptFile = () => {
      stop.abort();
      return true;
    };
    const outcome = await bench.provider().ensure("llama.cpp", github("b1"), request(stop.signal));
    expect(outcome).toMatchObject({ ok: false, error: { kind: "aborted" } });
    await expect.poll(() => bench.leftovers()).toEqual([]);
  });

  test("B73 another version is installed beside one that runs, which is not touched", async () => {
    await bench.publish("b1");
    const first = await bench.ensure(github("b1"));
    const path = pathOf(first);
    const running = spawn(path, ["--port", "0", "--host", "127.0.0.1", "--device", "none"], { stdio: "ignore" });
    try {
      const before = await readFile(path, "utf8");
      await bench.publish("b2");
      expect(await bench.ensure(github("b2"))).toMatchObject({ version: "b2" });
      expect(running.exitCode).toBeNull();
      expect(await readFile(path, "utf8")).toBe(before);
    } finally {
      running.kill("SIGKILL");
    }
  });

  test("B73 an agent that is killed in the middle leaves nothing that is taken for installed, and the next try succeeds", async () => {
    await bench.publish("b1");
    const { promise: killed, resolve } = Promise.withResolvers<undefined>();
    bench.server.interceptFile = (_request, response) => {
      response.writeHead(200, { "content-length": "1000000" });
      response.write("half");
      child.kill("SIGKILL");
      return true;
    };
    const child = spawn(
      process.execPath,
      [
        join(import.meta.dirname, "../../../test/fakes/install-once.ts"),
        bench.enginesDir,
        bench.server.api,
        "b1",
        "github",
      ],
      { stdio: "ignore" },
    );
    child.once("exit", () => {
      resolve(undefined);
    });
    await killed;
    expect((await bench.leftovers()).length).toBeGreaterThan(0);
    bench.server.interceptFile = () => false;
    expect((await bench.provider().found("llama.cpp")).builds).toEqual([]);
    expect(await bench.ensure(github("b1"))).toMatchObject({ version: "b1" });
    expect(await bench.leftovers()).toEqual([]);
  });
});
