import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { PythonBench, standIn } from "../../../test/fakes/python-bench.ts";
import { millis } from "../../core/ids.ts";
import type { EngineProvider } from "./provider.ts";

const bench = new PythonBench();
const SLOW = { timeout: 60_000 };
const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

async function startFrom(path: string): Promise<ChildProcess> {
  const child = spawn(path, ["--serve"], { stdio: ["ignore", "pipe", "ignore"] });
  running.push(child);
  await once(child.stdout, "data");
  return child;
}

/** The builds that are there after the provider has looked around. */
async function after(provider: EngineProvider): Promise<readonly string[]> {
  await provider.found("vllm");
  return (await bench.folder()).filter((name) => name !== "downloads");
}

const publishTwo = (): void => {
  bench.publish(standIn("1.0"));
  bench.publish(standIn("2.0"));
};

test("B73 the old version stays while an engine runs from it, and is removed when none does", SLOW, async () => {
  publishTwo();
  const provider = bench.provider({ unusedAfter: millis(0) });
  const old = await bench.ensureWith(provider, "1.0", "pypi");
  const engine = await startFrom("path" in old ? old.path : "");
  await bench.ensureWith(provider, "2.0", "pypi");
  for (let look = 0; look < 3; look++) expect(await after(provider)).toEqual(["1.0-cpu", "2.0-cpu"]);
  expect(engine.exitCode).toBeNull();
  engine.kill("SIGKILL");
  await once(engine, "exit");
  await expect.poll(() => after(provider)).toEqual(["2.0-cpu"]);
});

test("an engine that an earlier agent started counts too", SLOW, async () => {
  publishTwo();
  const old = await bench.ensure("1.0", "pypi");
  const engine = await startFrom("path" in old ? old.path : "");
  const later = bench.provider({ unusedAfter: millis(0) });
  await bench.ensureWith(later, "2.0", "pypi");
  for (let look = 0; look < 3; look++) expect(await after(later)).toEqual(["1.0-cpu", "2.0-cpu"]);
  expect(engine.exitCode).toBeNull();
});

test("a build that somebody was given lately stays although nothing runs from it yet", SLOW, async () => {
  publishTwo();
  const provider = bench.provider({ unusedAfter: millis(600_000) });
  await bench.ensureWith(provider, "1.0", "pypi");
  await bench.ensureWith(provider, "2.0", "pypi");
  for (let look = 0; look < 3; look++) expect(await after(provider)).toEqual(["1.0-cpu", "2.0-cpu"]);
});

test("nothing is removed as long as what is wished for is not there", SLOW, async () => {
  bench.publish(standIn("1.0"));
  const provider = bench.provider({ unusedAfter: millis(0) });
  await bench.ensureWith(provider, "1.0", "pypi");
  expect(await bench.ensureWith(provider, "2.0", "pypi")).toMatchObject({ kind: "not-found" });
  for (let look = 0; look < 3; look++) expect(await after(provider)).toEqual(["1.0-cpu"]);
});
