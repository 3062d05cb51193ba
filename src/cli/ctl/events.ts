import { ListEventsResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { EventSchema } from "../../wire/gen/llmgw/v1/common_pb.js";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT, WATCH } from "../options.ts";
import { eventColumns } from "../render/columns.ts";
import { type Listing, printNews, showList } from "./listing.ts";
import { type Session, withSession } from "./session.ts";
import { logAgain } from "./watch.ts";

type Events = Listing<typeof ListEventsResponseSchema, typeof EventSchema>;

export const events: CommandSpec = {
  name: "events",
  summary: "list what happened, the latest last",
  options: [
    { flags: "--subject <name>", doc: "only what happened to this node, profile or replica" },
    { flags: "--limit <n>", doc: "at most so many (default: what the server thinks enough)" },
    OUTPUT,
    WATCH,
  ],
  examples: [
    { line: "llmgw ctl events", doc: "the latest events" },
    { line: "llmgw ctl events -w", doc: "and those that come, until Ctrl-C" },
  ],
  run: (call) => withSession(call, (session) => showEvents(call, session)),
};

async function showEvents(call: Call, { client }: Session): Promise<number> {
  // "node/a" is how the SUBJECT column shows it.
  const subject = call.flags.textOr("subject", "").replace(/^[a-z]+\//, "");
  const limit = call.flags.integer("limit", 1) ?? 0;
  const listing: Events = {
    answer: ListEventsResponseSchema,
    item: EventSchema,
    ask: (it, signal) => it.listEvents({ subject, limit }, { signal }),
    rows: (answer) => answer.events,
    columns: eventColumns,
    name: (event) => `event/${String(event.id)}`,
    empty: "Nothing has happened yet.",
  };
  if (!call.flags.given("watch")) return showList(call, client, listing);
  let after = 0;
  let isFirst = true;
  // What happened stays on the screen, below what happened before: it is a log on a terminal too.
  return logAgain(
    call,
    (signal) => client.listEvents(after === 0 ? { subject, limit } : { subject, after }, { signal }),
    ({ events: news }) => {
      if (news.length === 0) return;
      printNews(call, listing, { news, gone: [], isFirst });
      isFirst = false;
      after = Math.max(after, ...news.map((event) => event.id));
    },
  );
}
