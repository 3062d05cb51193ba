import type { Replica } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { LiveLine } from "../live.ts";
import { progressText } from "./progress.ts";
import { oneLine } from "./text.ts";

/** One replica on its way to ready. */
export const replicaLine = (replica: Replica): LiveLine =>
  lineFor(replica, replica.node === "" ? replica.id : `${replica.id} on ${replica.node}`);

/** The same where there is only one machine and one model that could be meant. */
export const onlyReplicaLine = (replica: Replica): LiveLine => lineFor(replica, replica.profile);

function lineFor(replica: Replica, place: string): LiveLine {
  const { progress } = replica;
  if (progress === undefined || progress.what === "") {
    const line = `${place}: ${replica.state}${replica.reason === "" ? "" : `, ${oneLine(replica.reason)}`}`;
    return { step: line, text: line };
  }
  const what = { ...progress, what: `${place}: ${progress.what}` };
  // The seconds until the next try run down with every look; that alone is no new step.
  return { step: oneLine(what.what.replace(/; next try in .*$/, "")), text: progressText(what, { bar: true }) };
}

/** The reason of a failed replica with the engine's last words, for the end of a command that waited for it. */
export function failureText(replica: Replica): string {
  const lines = replica.lastLines.map((line) => `  ${oneLine(line)}`);
  const output = lines.length === 0 ? "" : `\nThe engine's last lines:\n${lines.join("\n")}`;
  return `replica ${replica.id} failed: ${replica.reason}${output}`;
}
