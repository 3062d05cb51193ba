import { systemClock } from "../../../platform/clock.ts";
import { CreateKeyResponseSchema } from "../../../wire/gen/llmgw/v1/admin_pb.js";
import type { Call, CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { NAMES_OF } from "../names.ts";
import { isDocument, outputOf, plain, printDocument } from "../output.ts";
import { type Session, withSession } from "../session.ts";
import { expiryOf, LIMIT_OPTIONS, limitsOf, modelsOf } from "./limit-options.ts";

export const create: CommandSpec = {
  name: "create",
  summary: "make a key for a client, and show it this once",
  details:
    "The key alone goes to stdout. It is stored nowhere, and nothing can show it again: only its hash is kept, and its first characters to recognise it by.",
  arguments: [{ form: "<name>", doc: "whose key it is: letters, digits, dots, dashes and underscores" }],
  options: [...LIMIT_OPTIONS, OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl keys create laptop", doc: "a key for everything" },
    {
      line: "llmgw ctl keys create support-bot --models qwen3-32b --rpm 60 --concurrency 4 --budget 2M/day --expires 90d",
      doc: "and one for little",
    },
    { line: "llmgw ctl keys create ci > key && chmod 600 key", doc: "the key into a file" },
  ],
  run: (call) => {
    const { flags, args } = call;
    const request = {
      name: args[0] ?? "",
      models: [...modelsOf(flags)],
      limits: limitsOf(flags),
      expiresAt: expiryOf(flags, systemClock.now()),
    };
    return withSession(call, async (session) => {
      const created = await session.client.createKey(request);
      const output = outputOf(call);
      if (isDocument(output)) printDocument(call, output, plain(CreateKeyResponseSchema, created));
      else {
        call.io.stdout.write(`${created.secret}\n`);
        call.io.stderr.write(`This is the key of ${request.name}. Keep it: it cannot be shown again.\n`);
      }
      await warnOfUnknown(call, session, request.models);
      return 0;
    });
  },
};

/** A model may come later, so it is no mistake; a name that is mistyped looks the same. */
async function warnOfUnknown(call: Call, { client }: Session, models: readonly string[]): Promise<void> {
  if (models.length === 0) return;
  const known = await NAMES_OF.model(client);
  const missing = models.filter((model) => !known.includes(model));
  if (missing.length > 0) call.io.stderr.write(`Not served at present: ${missing.join(", ")}.\n`);
}
