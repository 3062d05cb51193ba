import type { GetStatusResponse, Model } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { GetStatusResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT_PAGE, WATCH } from "../options.ts";
import { statusPage } from "../render/status-page.ts";
import { lookingNow } from "./listing.ts";
import { isDocument, outputOf, plain, printDocument, printObject } from "./output.ts";
import { type Session, withSession } from "./session.ts";
import { drawAgain, isDrawn, logAgain } from "./watch.ts";

export const status: CommandSpec = {
  name: "status",
  summary: "show everything on one screen, what needs attention first",
  options: [OUTPUT_PAGE, WATCH],
  examples: [
    { line: "llmgw ctl status", doc: "is all well?" },
    { line: "llmgw ctl status -w", doc: "and does it stay so?" },
    { line: "llmgw ctl status -o json", doc: "for scripts: `attention` is empty when all is well" },
  ],
  run: (call) => withSession(call, (session) => showStatus(call, session)),
};

interface Seen {
  readonly status: GetStatusResponse;
  readonly models: readonly Model[];
}

async function showStatus(call: Call, { client, connection }: Session): Promise<number> {
  const ask = async (signal?: AbortSignal): Promise<Seen> => {
    const options = signal === undefined ? {} : { signal };
    const [status, { models }] = await Promise.all([client.getStatus({}, options), client.listModels({}, options)]);
    return { status, models };
  };
  const page = (seen: Seen): string => statusPage({ ...seen, server: connection.server }, lookingNow(call));
  const print = (seen: Seen, printOne: typeof printDocument): void => {
    const output = outputOf(call);
    if (isDocument(output)) printOne(call, output, plain(GetStatusResponseSchema, seen.status));
    else call.io.stdout.write(page(seen));
  };
  if (!call.flags.given("watch")) {
    print(await ask(), printDocument);
    return 0;
  }
  if (isDrawn(call)) return drawAgain(call, { ask, page });
  let before = "";
  return logAgain(call, ask, (seen) => {
    const now = JSON.stringify([plain(GetStatusResponseSchema, seen.status), seen.models.map(({ ready }) => ready)]);
    if (now !== before) print(seen, printObject);
    before = now;
  });
}
