import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MAIN, PythonBench, standIn } from "../../../../test/fakes/python-bench.ts";

const bench = new PythonBench();
const SLOW = { timeout: 60_000 };
const PROGRAM = join(import.meta.dirname, "../../../../test/fakes/install-python-once.ts");

/** Starts an installation in a process of its own and kills that with -9 when it says the line. */
async function killAt(line: string): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, bench.enginesDir, bench.mirror, "1.0"], {
    env: { ...bench.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (said.split("\n").includes(line)) child.kill("SIGKILL");
  });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  expect([code, signal, said.includes(line)]).toEqual([null, "SIGKILL", true]);
}

test.each([
  { at: "the resolution", line: "standin 1.0: being resolved" },
  { at: "the fetching", line: "standin 1.0" },
  { at: "the unpacking", line: "standin 1.0: being unpacked" },
  { at: "the trial", line: "standin 1.0: being tried" },
])(
  "B73 an agent that is killed in the middle of $at leaves nothing that is believed, and the next try succeeds",
  async ({ line }) => {
    // Long enough in each of its phases that the kill comes within.
    const slow = MAIN.replace("elif", 'elif "--help" in sys.argv:\n    import time\n    time.sleep(0.5)\nelif');
    bench.publish(standIn("1.0", { main: slow, ballast: 3_000_000 }));
    await killAt(line);
    const provider = bench.provider();
    expect((await provider.found("vllm")).builds).toEqual([]);
    expect(await bench.ensureWith(provider, "1.0", bench.mirror)).toMatchObject({
      version: "1.0",
      origin: "installed",
    });
    // What the dead one had started ends by itself; then a sweep leaves nothing.
    await expect
      .poll(
        async () => {
          await bench.ensure("9.9", bench.mirror);
          return await bench.folder();
        },
        { timeout: 15_000 },
      )
      .toEqual(["1.0-cpu", "downloads"]);
  },
);

test("wheels that were fetched before the kill are not fetched again", SLOW, async () => {
  bench.publish(standIn("1.0", { ballast: 1_000_000 }));
  await killAt("standin 1.0: being unpacked");
  const before = bench.fetches();
  expect(before.length).toBeGreaterThanOrEqual(2);
  expect(await bench.ensure("1.0", bench.mirror)).toMatchObject({ version: "1.0" });
  expect(bench.fetches()).toEqual(before);
});
