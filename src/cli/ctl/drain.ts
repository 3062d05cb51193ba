import { timestampDate } from "@bufbuild/protobuf/wkt";
import { LlmgwError } from "../../core/errors.ts";
import type { AdminClient } from "../../run/client.ts";
import { DrainResponseSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT_PAGE, TIMEOUT } from "../options.ts";
import { oneLine } from "../render/text.ts";
import { knownName } from "./names.ts";
import { isDocument, outputOf, plain, printOutcome } from "./output.ts";
import { type Session, withSession } from "./session.ts";
import { waitUntilDone } from "./wait-until.ts";
import { timeoutOf } from "./wait-ready.ts";

export const drain: CommandSpec = {
  name: "drain",
  summary: "empty a node: its replicas are replaced elsewhere first",
  details:
    "The node is cordoned. Each of its replicas goes when another is ready elsewhere and what it was working on is finished. Where there is no room for another, it goes at the deadline. The node stays cordoned until `llmgw ctl uncordon`, which also ends the drain.",
  arguments: [{ form: "<node>", doc: "its name", completes: ["node"] }],
  options: [
    { flags: "--deadline <duration>", doc: "after so long its replicas go anyway (default: 15m)" },
    { flags: "--wait", doc: "wait until nothing is left on it" },
    TIMEOUT,
    OUTPUT_PAGE,
  ],
  examples: [
    { line: "llmgw ctl drain gpu-a-01 --wait", doc: "before a reboot" },
    { line: "llmgw ctl drain gpu-a-01 --deadline 2m", doc: "when there is little time" },
  ],
  run: async (call) => {
    const withinSeconds = deadlineOf(call);
    timeoutOf(call);
    return withSession(call, (session) => drainOne(call, session, withinSeconds));
  },
};

async function drainOne(call: Call, { client }: Session, withinSeconds: number): Promise<number> {
  const node = await knownName(client, "node", call.args[0] ?? "");
  const drained = await client.drain({ node, withinSeconds });
  const { deadline, sentences } = drained;
  const at = deadline === undefined ? undefined : timestampDate(deadline).toISOString();
  if (!isDocument(outputOf(call))) for (const sentence of sentences) call.io.stderr.write(`${oneLine(sentence)}\n`);
  const isAwaited = call.flags.given("wait");
  if (isAwaited) await waitUntilDone(call, () => leftOn(client, node));
  const line = isAwaited ? "drained" : `draining${at === undefined ? "" : ` until ${at}`}`;
  const told = plain(DrainResponseSchema, drained) as object;
  printOutcome(call, { node, ...told, drained: isAwaited }, `node/${node} ${line}`);
  return 0;
}

async function leftOn(client: AdminClient, id: string): Promise<string | undefined> {
  const [node] = (await client.listNodes({ id })).nodes;
  if (node === undefined) throw new LlmgwError("NOT_FOUND", `The node "${id}" has been removed.`);
  if (node.draining) return `${node.replicas.join(", ")} on ${id} is still there`;
  if (!node.cordoned) throw new LlmgwError("CONFLICT", `The drain of ${id} was ended: somebody uncordoned it.`);
  return undefined;
}

/** In seconds; 0: none was given. */
function deadlineOf({ flags }: Call): number {
  const deadline = flags.duration("deadline");
  // 0 stands for none; who writes 0s wants it at once.
  return deadline === undefined ? 0 : Math.max(1, Math.ceil(deadline / 1000));
}
