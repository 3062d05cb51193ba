import { formatBytes } from "../../core/format.ts";
import type { PlannedChange, PlannedReplica } from "../../wire/gen/llmgw/v1/changing_pb.js";
import type { Colours } from "../io.ts";
import { oneLine } from "./text.ts";

const MARKS: Readonly<Record<string, string>> = { created: "+", changed: "~" };

/** What applying would do, object by object; one line when that is nothing. */
export function planPage(changes: readonly PlannedChange[], colours: Colours): string {
  const real = changes.filter(({ outcome }) => outcome !== "unchanged");
  if (real.length === 0) return "Nothing would change.\n";
  return real.map((change) => changeLines(change, colours).join("\n")).join("\n\n") + "\n";
}

function changeLines(change: PlannedChange, colours: Colours): readonly string[] {
  const { kind, name, outcome, places, sentences } = change;
  return [
    colours.bold(`${MARKS[outcome] ?? " "} ${kind.toLowerCase()}/${name} would be ${outcome}`),
    ...fieldLines(change, colours).map((line) => `    ${line}`),
    ...grouped(places).map((line) => `    ${line}`),
    ...sentences.map((sentence) => `    ${oneLine(sentence)}`),
  ];
}

/** Same places on one line: "2 replicas on gpu-a-01 (fetches 4.7 GB first)". */
function grouped(places: readonly PlannedReplica[]): readonly string[] {
  const byWords = Map.groupBy(places, ({ node, reason }) => (node === "" ? `no place: ${reason}` : `on ${node}`));
  return [...byWords].map(([words, all]) => {
    const fetching = all.find(({ fetches }) => fetches);
    const gpus = all.flatMap(({ gpuUuids }) => gpuUuids);
    const notes = [
      ...(gpus.length === 0 ? [] : [gpus.join(", ")]),
      ...(fetching === undefined ? [] : [fetchWords(fetching)]),
    ];
    const count = all.length === 1 ? "1 new replica" : `${String(all.length)} new replicas`;
    return oneLine(`${count} ${words}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`);
  });
}

const fetchWords = ({ fetchBytes }: PlannedReplica): string =>
  fetchBytes === 0
    ? "the weights are fetched first, nobody knows how many bytes"
    : `fetches ${formatBytes(fetchBytes)} first`;

/** The manifests' keys, as a diff. */
export function diffPage(changes: readonly PlannedChange[], colours: Colours): string {
  return changes
    .filter(({ outcome }) => outcome !== "unchanged")
    .map((change) => {
      const head = `${MARKS[change.outcome] ?? " "} ${change.kind.toLowerCase()}/${change.name}`;
      return [colours.bold(head), ...fieldLines(change, colours).map((line) => `  ${line}`)].join("\n") + "\n";
    })
    .join("");
}

function fieldLines({ fields }: PlannedChange, colours: Colours): readonly string[] {
  return fields.flatMap(({ path, before, after }) => [
    ...(before === "" ? [] : [colours.red(oneLine(`- ${path}: ${before}`))]),
    ...(after === "" ? [] : [colours.green(oneLine(`+ ${path}: ${after}`))]),
  ]);
}
