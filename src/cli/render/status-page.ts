import type { GetStatusResponse, Model } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { ageOf, type Looking, modelColumns, stateColour, WAITS } from "./columns.ts";
import { table } from "./table.ts";
import { cutColoured, oneLine } from "./text.ts";

interface StatusView {
  readonly status: GetStatusResponse;
  readonly models: readonly Model[];
  readonly server: string;
}

/** One screen holds this many models; `ctl models` shows all. */
const MODELS_SHOWN = 12;

/** What needs attention first, then nodes, GPUs, replicas, requests and models. Nothing alarming when all is well. */
export function statusPage(view: StatusView, looking: Looking): string {
  const { status, server } = view;
  const { colours, now, width } = looking;
  const fit = (line: string): string => (width === undefined ? line : cutColoured(line, width));
  const attention = status.attention.map((sentence) => colours.yellow(`! ${oneLine(sentence)}`));
  const head = attention.length > 0 ? [colours.bold("Needs attention"), ...attention] : [colours.green(allWell(view))];
  const facts: readonly (readonly [string, string])[] = [
    ["Nodes", counted(status.nodes, looking, "none yet: start `llmgw agent` on a node")],
    ["GPUs", status.gpus === 0 ? "none" : `${String(status.gpusInUse)} of ${String(status.gpus)} in use`],
    ["Replicas", counted(status.replicas, looking, "none")],
    ...status.scaling.map((sentence, index) => [index === 0 ? "By load" : "", oneLine(sentence)] as const),
    ["Requests", `${String(status.requestsInFlight)} in flight`],
    ["Router", status.routerUrl === "" ? "none in this server" : status.routerUrl],
    ["Server", `${server}, llmgw ${status.serverVersion}, up ${ageOf(status.startedAt, now)}`],
  ];
  const lines = [...head, "", ...facts.map(([label, text]) => `${label.padEnd(10)}${text}`)];
  return `${lines.map(fit).join("\n")}\n${modelsPart(view.models, looking)}`;
}

const allWell = ({ status, models }: StatusView): string =>
  status.profiles === 0 && models.length === 0
    ? "All is well. Nothing is to be served yet: `llmgw ctl run SOURCE` is the shortest way."
    : "All is well.";

/** "3 ready, 1 preparing" */
function counted(counts: Readonly<Record<string, number>>, { colours }: Looking, none: string): string {
  const present = Object.entries(counts).filter(([, count]) => count > 0);
  if (present.length === 0) return none;
  return present
    .toSorted(([a], [b]) => orderOf(a) - orderOf(b) || (a < b ? -1 : 1))
    .map(([state, count]) => (stateColour(state, colours) ?? String)(`${String(count)} ${state}`))
    .join(", ");
}

const orderOf = (state: string): number => (state === "ready" ? 0 : 1);

function modelsPart(models: readonly Model[], looking: Looking): string {
  if (models.length === 0) return "";
  const byTrouble = models.toSorted(
    (a, b) => Math.min(a.ready, 1) - Math.min(b.ready, 1) || (a.name < b.name ? -1 : 1),
  );
  const shown = byTrouble.slice(0, MODELS_SHOWN);
  const more = models.length - shown.length;
  const all = modelColumns(looking);
  // A column that is empty when all is well would only make one wonder.
  const columns = shown.some(({ waitingFor }) => waitingFor !== "")
    ? all
    : all.filter(({ header }) => header !== WAITS);
  const rest = more === 0 ? "" : `and ${String(more)} more: llmgw ctl models\n`;
  return `\n${table(columns, shown, { width: looking.width, colours: looking.colours })}${rest}`;
}
