import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { EngineCommand } from "../../src/engines/engine.ts";

/**
 * Programs in the place of ray and of an engine. Each call of ray is a line of its arguments, parted by tabs. `ray start
 * --block` stays until it is ended; `ray health-check` answers well from the second time on, if at all. The engine needs
 * Ray, and so ends no sooner than it was started, or its folder is gone.
 */
export interface RayStandIn {
  readonly ray: string;
  /** Writes down its arguments like ray, and ends with `engineStatus`. */
  readonly engine: string;
  calls(): Promise<readonly (readonly string[])[]>;
  /** Runs a command until Ray was started, and the engine if there is one; then ends all of it. */
  run(command: EngineCommand): Promise<void>;
  remove(): Promise<void>;
}

export async function rayStandIn({ engineStatus = 0, answers = true } = {}): Promise<RayStandIn> {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-stand-in-"));
  const log = join(folder, "calls");
  const bin = join(folder, "bin");
  await mkdir(bin);
  await writeFile(log, "");
  // In one piece: two calls may be writing.
  const note = `IFS="$(printf '\\t')"\nprintf '%s\\t%s\\n' "$(basename "$0")" "$*" >>"${log}"`;
  const ray = join(bin, "ray");
  await writeFile(
    ray,
    `#!/bin/sh
${note}
case "$1" in
  start) exec sleep 60 ;;
  health-check) mkdir "${folder}/asked" 2>/dev/null && exit 1; exit ${answers ? "0" : "1"} ;;
esac
`,
    { mode: 0o755 },
  );
  const engine = join(bin, "vllm");
  await writeFile(
    engine,
    `#!/bin/sh
${note}
until grep -q "^ray.start" "${log}" || [ ! -e "${log}" ]; do sleep 0.05; done
exit ${String(engineStatus)}
`,
    { mode: 0o755 },
  );
  const calls = async () =>
    (await readFile(log, "utf8"))
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split("\t"));
  return {
    ray,
    engine,
    calls,
    run: (command) => runToStart(command, calls),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function runToStart({ argv: [file, ...args], env }: EngineCommand, calls: RayStandIn["calls"]): Promise<void> {
  const child = spawn(file, args, { env, detached: true, stdio: "ignore" });
  const ended = once(child, "exit");
  // A head ends by itself with its engine; a worker does not.
  for (;;) {
    const isStarted = (await calls()).some(([program, verb]) => program === "ray" && verb === "start");
    if (child.exitCode !== null || (isStarted && !args.includes("serve"))) break;
    await setTimeout(50);
  }
  if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  await ended;
}
