import { resolve } from "node:path";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";
import { runProgram } from "../platform/run.ts";
import type { Call, CommandSpec } from "./command.ts";
import { agentUnit, UNIT_MARK } from "./service-unit.ts";

const UNIT = "/etc/systemd/system/llmgw-agent.service";
const PROGRAM = resolve(import.meta.dirname, "../../bin/llmgw");
const SYSTEMCTL_TIMEOUT = millis(30_000);

export const installService: CommandSpec = {
  name: "install-service",
  summary: "make the agent a systemd service of this machine",
  details: `Writes ${UNIT}. Stopping the service leaves the engines running, and the next start takes them over; \`llmgw agent stop-engines\` ends them.`,
  options: [{ flags: "--print", doc: "only print the unit" }],
  examples: [
    { line: "llmgw agent install-service -c /etc/llmgw/agent.yaml", doc: "as root; it says what to do next" },
    { line: "llmgw agent install-service -c /etc/llmgw/agent.yaml --print", doc: "what would be written?" },
  ],
  run: install,
};

async function install({ flags, io }: Call): Promise<number> {
  const dataDir = flags.text("data-dir");
  const unit = agentUnit({
    program: PROGRAM,
    config: resolve(flags.textOr("config", "")),
    dataDir: dataDir === undefined ? undefined : resolve(dataDir),
  });
  if (flags.given("print")) {
    io.stdout.write(unit);
    return 0;
  }
  await writeUnit(unit);
  const env = { PATH: io.env["PATH"] ?? "/usr/bin:/bin" };
  const reloaded = await runProgram(["systemctl", "daemon-reload"], { env, timeout: SYSTEMCTL_TIMEOUT });
  const isReloaded = reloaded.kind === "ended" && reloaded.code === 0;
  io.stdout.write(
    `${UNIT} is written.\n` +
      (isReloaded ? "" : "systemd did not read it: run `systemctl daemon-reload`.\n") +
      "Next: systemctl enable --now llmgw-agent\n" +
      "`systemctl stop llmgw-agent` leaves the engines running; `llmgw agent stop-engines -c FILE` ends them after it.\n",
  );
  return 0;
}

async function writeUnit(unit: string): Promise<void> {
  try {
    const there = await readTextIfThere(UNIT);
    if (there !== undefined && !there.startsWith(UNIT_MARK)) {
      throw new LlmgwError("CONFLICT", `${UNIT} is there and was not written by llmgw: move it away first.`);
    }
    await writeFileAtomic(UNIT, unit);
  } catch (error) {
    if (error instanceof LlmgwError) throw error;
    throw new LlmgwError(
      "FAILED",
      `${UNIT} cannot be written: ${messageOf(error)}. Run this as root, or use --print.`,
      {
        cause: error,
      },
    );
  }
}
