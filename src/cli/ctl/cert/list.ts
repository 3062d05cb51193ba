import { systemClock } from "../../../platform/clock.ts";
import type { IssuedEntry } from "../../../pki/issued.ts";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT } from "../../options.ts";
import { fromNow, type Looking } from "../../render/columns.ts";
import { type Column, table } from "../../render/table.ts";
import { lookingNow, lookOf } from "../listing.ts";
import { isDocument, outputOf, printDocument } from "../output.ts";
import { entryDocument, stateOf } from "./entry-document.ts";
import { DIR, dirOf } from "./options.ts";

/** Below a third of a year's certificate it is time for a new one. */
const SOON_MS = 30 * 86_400_000;

export const list: CommandSpec = {
  name: "list",
  summary: "list what the authority has issued, and what has become of it",
  options: [DIR, OUTPUT],
  examples: [{ line: "llmgw ctl cert list --dir certs", doc: "which certificates expire soon?" }],
  run: async (call) => {
    const { listIssued } = await import("../../../pki/commands.ts");
    const entries = await listIssued(dirOf(call));
    const output = outputOf(call);
    const now = systemClock.now();
    if (isDocument(output)) {
      printDocument(call, output, { certificates: entries.map((entry) => entryDocument(entry, now)) });
    } else if (output === "name") {
      call.io.stdout.write(entries.map(({ name }) => `${name}\n`).join(""));
    } else {
      call.io.stdout.write(table(certificateColumns(lookingNow(call)), entries, lookOf(call)));
    }
    return 0;
  },
};

const certificateColumns = ({ now, colours }: Looking): readonly Column<IssuedEntry>[] => [
  { header: "NAME", cell: ({ name }) => name },
  { header: "ROLE", cell: ({ role }) => role },
  {
    header: "STATE",
    cell: (entry) => stateOf(entry, now),
    colour: (entry) => (stateOf(entry, now) === "valid" ? colours.green : colours.red),
  },
  {
    header: "EXPIRES",
    cell: ({ notAfter }) => fromNow(notAfter, now),
    right: true,
    ticks: true,
    colour: ({ notAfter }) => (notAfter - now < SOON_MS ? colours.yellow : undefined),
  },
  { header: "SERIAL", cell: ({ serial }) => serial },
  { header: "NAMES", cell: ({ names }) => names.join(", "), wide: true },
];
