import { resolve } from "node:path";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";
import { runProgram } from "../platform/run.ts";
import type { Call, CommandSpec } from "./command.ts";
import { configFile } from "./role-config.ts";
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

async function install(call: Call): Promise<number> {
  const { flags, io } = call;
  const service = { config: configFile(call), dataDir: flags.text("data-dir") };
  if (flags.given("print")) {
    io.stdout.write(unitOf(service));
    return 0;
  }
  await writeUnit(unitOf(service));
  const isReloaded = await systemctl(io.env, "daemon-reload");
  io.stdout.write(
    `${UNIT} is written.\n` +
      (isReloaded ? "" : "systemd did not read it: run `systemctl daemon-reload`.\n") +
      "Next: systemctl enable --now llmgw-agent\n" +
      "`systemctl stop llmgw-agent` leaves the engines running; `llmgw agent stop-engines -c FILE` ends them after it.\n",
  );
  return 0;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Writes the unit, and starts the agent anew with it now and at each boot. Resolves with the unit's file. */
export async function runAsService(config: string, env: Env): Promise<string> {
  await writeUnit(unitOf({ config, dataDir: undefined }));
  // A restart leaves the engines of an agent that ran before as they are.
  for (const step of [["daemon-reload"], ["enable", "llmgw-agent"], ["restart", "llmgw-agent"]] as const) {
    if (await systemctl(env, ...step)) continue;
    const command = ["systemctl", ...step].join(" ");
    throw new LlmgwError(
      "FAILED",
      `${UNIT} is written, but \`${command}\` failed: \`journalctl -u llmgw-agent\` says more.`,
    );
  }
  return UNIT;
}

const unitOf = ({ config, dataDir }: { readonly config: string; readonly dataDir: string | undefined }): string =>
  agentUnit({
    program: PROGRAM,
    config: resolve(config),
    dataDir: dataDir === undefined ? undefined : resolve(dataDir),
  });

async function systemctl(env: Env, ...args: readonly string[]): Promise<boolean> {
  const path = { PATH: env["PATH"] ?? "/usr/bin:/bin" };
  const done = await runProgram(["systemctl", ...args], { env: path, timeout: SYSTEMCTL_TIMEOUT });
  return done.kind === "ended" && done.code === 0;
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
