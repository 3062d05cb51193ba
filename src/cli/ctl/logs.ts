import { pause, systemClock } from "../../platform/clock.ts";
import type { AdminClient } from "../../run/client.ts";
import type { Call, CommandSpec } from "../command.ts";
import type { LogsResponse } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { interrupted } from "../interrupted.ts";
import { isConnectionLost, RETRY_AFTER, tellLoss } from "./connection-loss.ts";
import { findReplica } from "./names.ts";
import { newLines } from "./overlap.ts";
import { type Session, withSession } from "./session.ts";

/** Lines that are remembered, to find the place again after a break. */
const MEMORY = 500;
const USUAL_TAIL = 100;

export const logs: CommandSpec = {
  name: "logs",
  summary: "print an engine's own output, live from its node",
  arguments: [
    {
      form: "<replica>",
      doc: "its name, the beginning of it, or a profile with one replica",
      completes: ["replica", "profile"],
    },
  ],
  options: [
    { flags: "-f, --follow", doc: "go on as it writes, until Ctrl-C; a lost connection is taken up again" },
    { flags: "--rank <r>", doc: "of a replica over several nodes: which of them (default: 0, the one that answers)" },
    { flags: "--tail <n>", doc: `begin with the last n lines (default: ${String(USUAL_TAIL)})` },
  ],
  examples: [
    { line: "llmgw ctl logs qwen3-32b -f", doc: "follow the only replica of a profile" },
    { line: "llmgw ctl logs qwen3-32b-7f3a --tail 500", doc: "the last 500 lines" },
    { line: "llmgw ctl logs deepseek-v3 --rank 1", doc: "from the second of its nodes" },
  ],
  run: (call) => withSession(call, (session) => showLogs(call, session)),
};

async function showLogs(call: Call, { client }: Session): Promise<number> {
  const replica = await findReplica(client, call.args[0] ?? "");
  const tail = call.flags.integer("tail") ?? USUAL_TAIL;
  const rank = call.flags.integer("rank") ?? 0;
  if (!call.flags.given("follow")) {
    for await (const { lines } of client.logs({ replica, tail, follow: false, rank }, { timeoutMs: 0 }))
      print(call, lines);
    return 0;
  }
  await follow(call, client, { replica, tail, rank });
  return 0;
}

interface Followed {
  readonly replica: string;
  readonly tail: number;
  readonly rank: number;
}

/** Until Ctrl-C, or until the engine has ended and its output is complete. */
async function follow(call: Call, client: AdminClient, followed: Followed): Promise<void> {
  const stop = interrupted();
  let printed: readonly string[] = [];
  const onLines = (lines: readonly string[], isFirstAgain: boolean): void => {
    const news = isFirstAgain ? newLines(printed, lines) : lines;
    print(call, news);
    printed = [...printed, ...news].slice(-MEMORY);
  };
  for (let attempt = 0; ; attempt += 1) {
    const isAgain = attempt > 0;
    const asked = { ...followed, tail: isAgain ? MEMORY : followed.tail, follow: true };
    const stream = client.logs(asked, { timeoutMs: 0, signal: stop });
    const broke = await readToEnd(stream, stop, (lines, isFirst) => {
      onLines(lines, isFirst && isAgain);
    });
    if (!broke || stop.aborted) return;
    if (!isAgain) tellLoss(call.io);
    await pause(systemClock, RETRY_AFTER, stop);
  }
}

/** Whether the stream was broken, as against complete or called off. */
async function readToEnd(
  stream: AsyncIterable<LogsResponse>,
  stop: AbortSignal,
  onLines: (lines: readonly string[], isFirst: boolean) => void,
): Promise<boolean> {
  let isFirst = true;
  try {
    for await (const { lines } of stream) {
      onLines(lines, isFirst);
      isFirst = false;
    }
    return false;
  } catch (error) {
    if (stop.aborted) return false;
    if (!isConnectionLost(error)) throw error;
    return true;
  }
}

function print(call: Call, lines: readonly string[]): void {
  if (lines.length > 0) call.io.stdout.write(lines.map((line) => `${line}\n`).join(""));
}
