import { cliReference } from "../src/cli/reference.ts";
import { configReference, type SettingRow } from "../src/config/reference.ts";
import { ERRORS } from "../src/core/errors.ts";
import { REPLICA_TRAITS } from "../src/core/replica-state.ts";
import { METRICS as AGENT_METRICS } from "../src/agent/metrics.ts";
import { METRICS as CONTROL_METRICS } from "../src/control/metrics.ts";
import { METRICS as ROUTER_METRICS } from "../src/router/metrics.ts";
import { ROUTING_POLICIES } from "../src/routing/policies.ts";
import { DEFAULT_POLICY } from "../src/scheduler/policies.ts";
import { type Layer, LAYERS } from "./layers.js";
import { markdownTable } from "./markdown-table.ts";

const HEADER = "<!-- Made by `npm run generate`. Changes here are lost: change the source. -->";
const LAYERS_BEGIN = "<!-- layers:begin -->";
const LAYERS_END = "<!-- layers:end -->";

/** Every page of docs/reference: path from the root of the repository → content. */
export function pages(): Readonly<Record<string, string>> {
  return {
    "docs/reference/cli.md": page("Commands", cliReference()),
    "docs/reference/config.md": page("Configuration", configuration()),
    "docs/reference/errors.md": page("Errors", errors()),
    "docs/reference/metrics.md": page("Metrics", metrics()),
    "docs/reference/placement.md": page("How a node is chosen", placement()),
    "docs/reference/policies.md": page("How a replica is chosen", policies()),
    "docs/reference/replica-states.md": page("The states of a replica", replicaStates()),
  };
}

/** ARCHITECTURE.md with the table of layers as it is now. Throws when its markers are gone. */
export function withLayers(architecture: string): string {
  const begin = architecture.indexOf(LAYERS_BEGIN);
  const end = architecture.indexOf(LAYERS_END);
  if (begin === -1 || end < begin) {
    throw new Error(`ARCHITECTURE.md needs the lines ${LAYERS_BEGIN} and ${LAYERS_END}, in this order`);
  }
  const before = architecture.slice(0, begin + LAYERS_BEGIN.length);
  return `${before}\n\n${layers(LAYERS)}\n\n${architecture.slice(end)}`;
}

const page = (title: string, body: string): string => `${HEADER}\n\n# ${title}\n\n${body.trim()}\n`;
const code = (text: string): string => `\`${text}\``;
const codes = (texts: readonly string[]): string => texts.map(code).join(", ") || "–";
const yes = (holds: boolean): string => (holds ? "yes" : "no");

const FORMS = [
  "The files are YAML 1.2. Durations: `5s`, `250ms`, `1m30s`, `2h`, `400d`. Sizes: `80GiB` (powers of 1024), `500MB` (powers of 1000).",
  "In agent.yaml, router.yaml and server.yaml `${NAME}` and `${NAME:-default}` take environment variables, `$${` is a plain `${`, and a",
  "secret may stand as `file:/path`. A listening address without a host takes the host of the default; port 0 takes a free",
  "one. `--check` shows what is in force.",
].join("\n");

function configuration(): string {
  const head = ["key", "type", "without it", "meaning"];
  const sections = configReference().map(({ title, about, rows }) => {
    const cells = rows.map(({ key, type, fallback, spelled, doc }: SettingRow) => [
      code(key),
      type,
      spelled ? code(fallback) : fallback,
      doc,
    ]);
    return `## ${title}\n\n${about}\n\n${markdownTable(head, cells)}`;
  });
  return [FORMS, ...sections].join("\n\n");
}

function errors(): string {
  const head = ["error", "HTTP status", "`error.type`", "`error.code`", "exit code", "meaning"];
  const rows = Object.entries(ERRORS).map(([name, { http, type, code: said, exit, doc }]) => [
    code(name),
    String(http),
    code(type),
    said === null ? "–" : code(said),
    String(exit),
    doc,
  ]);
  return `What the router answers a client, and what a command ends with.\n\n${markdownTable(head, rows)}`;
}

const PLACEMENT = [
  "A node is asked by each of these rules, in this order. The first no is told with the replica that waits for a place;",
  "`llmgw ctl explain` tells every no, with the smallest change that would make it a yes.",
].join("\n");

const SCORES = [
  "Of the nodes that say yes, the one with the highest sum gets the replica; of equals the first by its id. Each score is",
  "between 0 and its weight.",
].join("\n");

const ISLANDS = "Of a replica over several nodes, this is added to the mean of its nodes' scores.";

function placement(): string {
  const { filters, scorers, islandScorers } = DEFAULT_POLICY;
  const rules = markdownTable(
    ["rule", "yes when"],
    filters.map(({ name, doc }) => [code(name), doc]),
  );
  const scores = (list: typeof scorers | typeof islandScorers): string =>
    markdownTable(
      ["score", "weight", "what it prefers"],
      list.map(({ name, weight, doc }) => [code(name), String(weight), doc]),
    );
  return [PLACEMENT, rules, SCORES, scores(scorers), ISLANDS, scores(islandScorers)].join("\n\n");
}

interface MetricRow {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Every list of metrics there is, under the name of the part that reports it. */
const METRIC_LISTS: Readonly<Record<string, readonly MetricRow[]>> = {
  "Control plane": Object.values(CONTROL_METRICS),
  Router: Object.values(ROUTER_METRICS),
  Agent: AGENT_METRICS,
};

const WHERE_METRICS_ARE = [
  "In Prometheus' text format at `/metrics`: those of the control plane and of the router in it on `listen` of server.yaml,",
  "those of a router alone on `metrics_listen` of router.yaml, those of an agent on `metrics_listen` of agent.yaml.",
].join("\n");

function metrics(): string {
  const sections = Object.entries(METRIC_LISTS).map(([part, list]) => {
    const rows = list.map(({ name, type, labels, help }) => [code(name), type, codes(labels), help]);
    return `## ${part}\n\n${markdownTable(["name", "type", "labels", "meaning"], rows)}`;
  });
  return [WHERE_METRICS_ARE, ...sections].join("\n\n");
}

const CHOOSING = [
  "A policy chooses among the replicas that are ready, that were not set aside after failures, and that have room: a replica",
  "is given as many requests at once as its engine has slots, and one more so that it is never idle between two. An engine",
  "that does not tell its slots is given any number.",
  "",
  "Where all are full, a request waits in the router: those of one key in the order in which they came, keys in turns. Its",
  "client gets neither a status nor a header meanwhile, because both depend on the engine; it may leave at any time, and then",
  "no engine hears of it. A full queue and a wait of two minutes are answered with 503 `server_is_overloaded` and `retry-after`.",
  "",
  "The first policy is the one in force unless another is chosen.",
].join("\n");

function policies(): string {
  const sections = Object.entries(ROUTING_POLICIES).map(([name, { doc, params }], index) => {
    const title = `## ${name}${index === 0 ? " (default)" : ""}\n\n${doc}`;
    const rows = Object.entries(params.shape).map(([key, schema]) => [
      code(key),
      code(JSON.stringify((params.parse({}) as Readonly<Record<string, unknown>>)[key])),
      schema.description ?? "",
    ]);
    return rows.length === 0 ? title : `${title}\n\n${markdownTable(["param", "default", "meaning"], rows)}`;
  });
  return [CHOOSING, ...sections].join("\n\n");
}

const LOST = [
  "A replica on a node that is given up becomes `lost`, whatever its state but `stopped`; one on a node that was removed",
  "from the cluster becomes `stopped`. While a node is only silent, nothing changes.",
].join("\n");

function replicaStates(): string {
  const head = [
    "state",
    "meaning",
    "what comes next",
    "its node runs it",
    "holds its GPUs and memory",
    "counts as a replica",
  ];
  const rows = Object.entries(REPLICA_TRAITS).map(([kind, { doc, next, wantedOnNode, holdsResources, counts }]) => [
    code(kind),
    doc,
    next,
    yes(wantedOnNode),
    yes(holdsResources),
    yes(counts),
  ]);
  return `${LOST}\n\n${markdownTable(head, rows)}`;
}

function layers(table: readonly Layer[]): string {
  const head = ["folder", "what", "pure", "may import", "packages"];
  const rows = table.map(({ folder, why, pure, imports, packages }) => [
    code(folder),
    why,
    yes(pure),
    codes(imports),
    codes(packages),
  ]);
  return markdownTable(head, rows);
}
