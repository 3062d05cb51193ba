import { formatBytes } from "../../core/format.ts";
import type { ExplainedAdapter, ExplainResponse, NodeExplanation } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { MemoryEstimate } from "../../wire/gen/llmgw/v1/common_pb.js";
import type { Measurement } from "../../wire/gen/llmgw/v1/memory_pb.js";
import { ageOf, type Looking, stateColour } from "./columns.ts";
import { takenWords } from "./taken-words.ts";
import { type Column, table } from "./table.ts";
import { displayWidth, folded, oneLine, withoutColours } from "./text.ts";

/** Why something is where it is, or nowhere: what it takes, and every node's answer. */
export function explainPage(answer: ExplainResponse, looking: Looking): string {
  const { colours, width } = looking;
  const name = answer.replica === "" ? answer.profile : answer.replica;
  const paint = stateColour(answer.state, colours) ?? ((text: string) => text);
  const state = answer.state === "" ? [] : [`  State     ${paint(answer.state)}: ${oneLine(answer.reason)}`];
  const { range } = answer;
  const scaled =
    range === undefined
      ? []
      : [`  Replicas  ${String(answer.wanted)} of ${String(range.min)} to ${String(range.max)}: ${oneLine(range.why)}`];
  const perToken = answer.kvPerToken === 0 ? [] : [`  Cache     ${formatBytes(answer.kvPerToken)} for each token`];
  const head = [
    colours.bold(name),
    ...state,
    ...scaled,
    `  Model     ${oneLine(answer.source)}`,
    ...answer.adapters.map(adapterLine),
    `  Estimate  ${oneLine(answer.origin)}`,
    ...perToken,
    ...(answer.taken.length === 0 ? [] : [`  Measured  ${takenWords(answer.taken)}`]),
  ];
  const sizes = [...(answer.onCpu === undefined ? [] : [answer.onCpu]), ...answer.onGpus];
  const look = { width, colours };
  return [
    ...head.map((line) => `${line}\n`),
    "\n",
    table(ESTIMATE_COLUMNS, sizes, look),
    "\n",
    ...(answer.measured.length === 0 ? [] : [table(measuredColumns(looking), answer.measured, look), "\n"]),
    answer.nodes.length === 0 ? "No node has joined yet.\n" : nodesPart(rowsOf(answer), looking),
  ].join("");
}

const adapterLine = ({ name, source, bytes }: ExplainedAdapter): string =>
  `  Adapter   ${oneLine(name)}: ${oneLine(source)}${bytes === 0 ? "" : `, ${formatBytes(bytes)}`}`;

const size = (header: string, of: (estimate: MemoryEstimate) => number): Column<MemoryEstimate> => ({
  header,
  cell: (estimate) => formatBytes(of(estimate)),
  right: true,
});

const ESTIMATE_COLUMNS: readonly Column<MemoryEstimate>[] = [
  { header: "ON", cell: ({ gpus }) => (gpus === 0 ? "CPU" : `${String(gpus)} ${gpus === 1 ? "GPU" : "GPUs"}`) },
  { header: "CONTEXT", cell: ({ context }) => (context === 0 ? "unknown" : String(context)), right: true },
  size("WEIGHTS", ({ weights }) => weights),
  size("CACHE", ({ kvCache }) => kvCache),
  size("OVERHEAD", ({ overhead }) => overhead),
  size("TOTAL", ({ total }) => total),
  { header: "EACH GPU", cell: ({ gpus, perGpu }) => (gpus === 0 ? "" : formatBytes(perGpu)), right: true },
  size("HOST", ({ host }) => host),
];

/** What was booked for earlier ones by their estimates, and is booked for the next by what they took. */
const measuredColumns = ({ now }: Looking): readonly Column<Measurement>[] => [
  { header: "MEASURED ON", cell: measuredOnWords },
  { header: "WITH", cell: ({ engine }) => engine },
  { header: "EACH GPU", cell: ({ perGpu }) => sizeOr(perGpu, ""), right: true },
  { header: "HOST", cell: ({ host }) => formatBytes(host), right: true },
  {
    header: "BOOKED NEXT",
    cell: ({ gpus, perGpuBooked }) => (gpus === 0 ? "" : sizeOr(perGpuBooked, "the estimate")),
    right: true,
  },
  { header: "HOST NEXT", cell: ({ hostBooked }) => formatBytes(hostBooked), right: true },
  { header: "AGO", cell: ({ at }) => ageOf(at, now), right: true },
];

const measuredOnWords = ({ gpus, gpuType }: Measurement): string =>
  gpus === 0 ? "CPU" : `${String(gpus)} × ${gpuType}`;

const sizeOr = (size: number, otherwise: string): string => (size === 0 ? otherwise : formatBytes(size));

/** A table where it fits. Reasons are what was asked for, so that they are folded and not cut where it does not. */
function nodesPart(rows: readonly Row[], looking: Looking): string {
  const { width, colours } = looking;
  const whole = table(nodeColumns(looking), rows, { width: undefined, colours });
  const fits = (line: string): boolean => width === undefined || displayWidth(withoutColours(line)) <= width;
  return whole.split("\n").every(fits) ? whole : rows.map((row) => block(row, looking)).join("");
}

const INDENT = "  ";

function block({ node, answer, rule, reason, change }: Row, { colours, width = 0 }: Looking): string {
  const paint = answer === "no" ? colours.red : colours.green;
  const said = rule === "" ? reason : `${rule}: ${reason}`;
  const told = change === "" ? [said] : [said, `it would do: ${change}`];
  const lines = told.flatMap((text) => folded(oneLine(text), width - INDENT.length));
  return [`${oneLine(node)}  ${paint(answer)}`, ...lines.map((line) => INDENT + line)]
    .map((line) => `${line}\n`)
    .join("");
}

interface Row {
  readonly node: string;
  readonly answer: string;
  readonly rule: string;
  readonly reason: string;
  readonly change: string;
}

/** One row for each rule that says no; one for a node that says yes. */
const rowsOf = ({ nodes }: ExplainResponse): readonly Row[] => nodes.flatMap(rowsOfNode);

function rowsOfNode({ node, here, refusals }: NodeExplanation): readonly Row[] {
  const answer = here ? "here" : refusals.length === 0 ? "yes" : "no";
  if (refusals.length === 0) {
    const reason = here ? "it is here, and one more would fit" : "would take it";
    return [{ node, answer, rule: "", reason, change: "" }];
  }
  return refusals.map(({ rule, reason, changes }) => ({
    ...{ node, answer, rule },
    // The one that is here has what it needs: the rules speak of one more.
    reason: here ? `for one more: ${reason}` : reason,
    change: changes.join(", or "),
  }));
}

const nodeColumns = ({ colours }: Looking): readonly Column<Row>[] => [
  { header: "NODE", cell: (row) => row.node },
  { header: "ANSWER", cell: (row) => row.answer, colour: (row) => (row.answer === "no" ? colours.red : colours.green) },
  { header: "RULE", cell: (row) => row.rule },
  { header: "WHY", cell: (row) => row.reason },
  { header: "SMALLEST CHANGE", cell: (row) => row.change },
];
