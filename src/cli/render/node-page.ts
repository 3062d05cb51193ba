import { formatBytes } from "../../core/format.ts";
import type { Node } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { FileTransfer } from "../../wire/gen/llmgw/v1/sharing_pb.js";
import { ageOf, type Looking, nodeWords, stateColour } from "./columns.ts";
import { fabricLines, gpuLine } from "./hardware-lines.ts";
import { linkMatrix } from "./link-matrix.ts";
import { oneLine } from "./text.ts";

type Line = readonly [label: string, text: string];

/** Everything that is known of one node; what is wrong with it comes first. */
export function nodePage(node: Node, looking: Looking): string {
  const { colours, now } = looking;
  const paint = stateColour(node.state, colours) ?? ((text: string) => text);
  const inventory = node.inventory;
  const lines: Line[] = [
    ["State", paint(nodeWords(node))],
    ...node.reasons.map((reason): Line => ["", oneLine(reason)]),
    ["Seen", `${ageOf(node.lastSeen, now)} ago; joined ${ageOf(node.joinedAt, now)} ago`],
  ];
  if (inventory !== undefined) {
    lines.push(
      ["Address", inventory.address],
      ["System", `${inventory.os} ${inventory.arch}, agent ${inventory.agentVersion}`],
      ["CPUs", String(inventory.cpus)],
      ["Memory", `${formatBytes(inventory.memoryAvailable)} of ${formatBytes(inventory.memoryTotal)} available`],
      ...listed(
        "Disks",
        inventory.disks,
        (disk) => `${disk.path}  ${formatBytes(disk.free)} of ${formatBytes(disk.total)} free`,
      ),
      ...driverLine(inventory.gpus.map((gpu) => gpu.driverVersion)),
      ...listed("GPUs", inventory.gpus, gpuLine),
      // Spaces keep its columns, so it is not brought to one line as words are.
      ...linkMatrix(inventory.gpus).map((line, at): Line => [at === 0 ? "Links" : "", line]),
      ...(inventory.fabrics.length === 0
        ? listed("Fabrics", [], String)
        : inventory.fabrics.flatMap(fabricLines).map((line, at): Line => [at === 0 ? "Fabrics" : "", indented(line)])),
      ...listed(
        "Engines",
        inventory.engines,
        (it) => `${it.name} ${it.version}  ${it.origin}  ${it.path}  ${it.devices.join(",")}`,
      ),
      ...listed("Weights", inventory.weights, (held) => `${held.source}  ${formatBytes(held.bytes)}`),
      ...listed("Labels", Object.entries(inventory.labels), ([key, value]) => `${key}=${value}`),
      ...listed("Notes", inventory.notes, (note) => note),
    );
  }
  if (node.transfers.length > 0) lines.push(...listed("Fetching", node.transfers, transferWords));
  lines.push(...listed("Replicas", node.replicas, (replica) => replica));
  return `${colours.bold(node.id)}\n${lines.map(([label, text]) => `  ${label.padEnd(10)}${text}`.trimEnd()).join("\n")}\n`;
}

function transferWords({ key, done, bytes, from }: FileTransfer): string {
  const name = key.slice(key.indexOf("/") + 1);
  const size = bytes === 0 ? formatBytes(done) : `${formatBytes(done)} of ${formatBytes(bytes)}`;
  const way = from.length === 0 ? "waits for a node that has it" : `from ${from.join(", ")}`;
  return `${name}  ${size}  ${way}`;
}

function driverLine(versions: readonly string[]): readonly Line[] {
  const known = [...new Set(versions)].filter((version) => version !== "");
  return known.length === 0 ? [] : [["Driver", oneLine(`NVIDIA ${known.join(", ")}`)]];
}

/** Without what a name from another machine could do to a terminal; ports stay under their fabric. */
const indented = (line: string): string => `${/^ */.exec(line)?.[0] ?? ""}${oneLine(line)}`;

/** The label stands at the first line of its list only. */
function listed<T>(label: string, items: readonly T[], text: (item: T) => string): readonly Line[] {
  if (items.length === 0) return [[label, "none"]];
  return items.map((item, at): Line => [at === 0 ? label : "", oneLine(text(item))]);
}
