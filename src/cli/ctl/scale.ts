import { LlmgwError } from "../../core/errors.ts";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT_PAGE, TIMEOUT } from "../options.ts";
import { knownName } from "./names.ts";
import { printOutcome } from "./output.ts";
import { type Session, withSession } from "./session.ts";
import { timeoutOf, waitUntilReady } from "./wait-ready.ts";

export const scale: CommandSpec = {
  name: "scale",
  summary: "change how many replicas a profile has, and nothing else",
  details:
    "No running replica restarts. A manifest that is applied later sets its own number again. A profile whose replicas follow its load is refused: apply it with a number, or with another range.",
  arguments: [
    { form: "<profile>", doc: "its name", completes: ["profile"] },
    { form: "<n>", doc: "how many replicas; 0 stops all of them" },
  ],
  options: [{ flags: "--wait", doc: "wait until so many are ready" }, TIMEOUT, OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl scale qwen3-32b 4 --wait", doc: "four replicas, and wait for them" }],
  run: async (call) => {
    const replicas = countOf(call.args[1] ?? "");
    timeoutOf(call);
    return withSession(call, (session) => scaleOne(call, session, replicas));
  },
};

async function scaleOne(call: Call, { client }: Session, replicas: number): Promise<number> {
  const profile = await knownName(client, "profile", call.args[0] ?? "");
  const { before } = await client.scale({ profile, replicas });
  if (call.flags.given("wait")) await waitUntilReady(call, client, profile);
  const line = `profile/${profile} scaled from ${String(before)} to ${String(replicas)}`;
  printOutcome(call, { profile, before, replicas }, line);
  return 0;
}

const MOST = 10_000;

function countOf(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= MOST) return count;
  throw new LlmgwError("BAD_REQUEST", `<n> is a whole number from 0 to ${String(MOST)}, not "${text}".`);
}
