import type { UpstreamExplanation } from "../../wire/gen/llmgw/v1/upstream_pb.js";
import type { Looking } from "./columns.ts";
import { type Column, table } from "./table.ts";
import { oneLine } from "./text.ts";

type UpstreamModel = UpstreamExplanation["models"][number];

/** What is known of an endpoint that llmgw does not run: how it is asked, and what is in the way. */
export function upstreamPage(upstream: UpstreamExplanation, { colours, width }: Looking): string {
  const { name, url, keyFile, caFile, concurrency, inFlight, aliases } = upstream;
  const most = concurrency === 0 ? "" : `, at most ${String(concurrency)} for each router`;
  const lines = [
    colours.bold(`upstream/${name}`),
    `  State     ${stateOf(upstream, colours)}`,
    `  Address   ${oneLine(url)}`,
    `  Key       ${keyFile === "" ? "none" : oneLine(keyFile)}`,
    ...(caFile === "" ? [] : [`  Trusts    ${oneLine(caFile)}`]),
    `  Requests  ${String(inFlight)} in flight${most}`,
    ...(aliases.length === 0 ? [] : [`  Aliases   ${aliases.map(oneLine).join(", ")}`]),
  ];
  const rows = table(MODEL_COLUMNS, upstream.models, { width, colours });
  return `${lines.map((line) => `${line}\n`).join("")}\n${rows}`;
}

function stateOf({ asked, trouble }: UpstreamExplanation, colours: Looking["colours"]): string {
  if (trouble === "") return colours.green("it is asked; routers find out by asking whether it answers");
  const meanwhile = asked ? "it is asked with what was read before" : "it is not asked";
  return (asked ? colours.yellow : colours.red)(`${meanwhile}: ${oneLine(trouble)}`);
}

const MODEL_COLUMNS: readonly Column<UpstreamModel>[] = [
  { header: "NAME", cell: (model) => model.name },
  { header: "THERE", cell: (model) => model.remote },
];
