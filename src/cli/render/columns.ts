import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { formatAge, formatBytes } from "../../core/format.ts";
import { hostAndPort } from "../../core/host-port.ts";
import type { Millis } from "../../core/ids.ts";
import type { Model, Node, Profile, Replica } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { Event } from "../../wire/gen/llmgw/v1/common_pb.js";
import type { Colours } from "../io.ts";
import type { Column } from "./table.ts";
import { takenWords } from "./taken-words.ts";

/** What every row may depend on beside itself. */
export interface Looking {
  readonly now: Millis;
  readonly colours: Colours;
  /** Columns of the terminal. Left out: lines are as long as they come. */
  readonly width?: number | undefined;
}

export const ageOf = (at: Timestamp | undefined, now: Millis): string =>
  at === undefined ? "" : formatAge(now - timestampMs(at));

/** "in 5m", or "5m ago". */
export const fromNow = (at: number, now: Millis): string =>
  at > now ? `in ${formatAge(at - now)}` : `${formatAge(now - at)} ago`;

/** When something ends that may go on for ever. */
export const expiry = (at: Timestamp | undefined, now: Millis): string =>
  at === undefined ? "never" : fromNow(timestampMs(at), now);

/** Good news green, trouble red, what is on its way yellow; the rest as it is. */
export function stateColour(state: string, colours: Colours): ((text: string) => string) | undefined {
  if (state === "ready") return colours.green;
  if (["failed", "lost", "unreachable", "error"].includes(state)) return colours.red;
  if (["degraded", "fetching", "preparing", "starting", "pending", "draining", "warning"].includes(state))
    return colours.yellow;
  return undefined;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

/** "4× NVIDIA H100, 1× NVIDIA L4" */
function gpusInWords(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${String(count)}× ${name}`).join(", ");
}

export function nodeWords(node: Node): string {
  const also = node.draining ? ["draining"] : node.cordoned ? ["cordoned"] : [];
  return [node.state, ...also].join(",");
}

export const nodeColumns = ({ now, colours }: Looking): readonly Column<Node>[] => [
  { header: "NAME", cell: (node) => node.id },
  { header: "STATE", cell: nodeWords, colour: (node) => stateColour(node.state, colours) },
  { header: "REPLICAS", cell: (node) => String(node.replicas.length), right: true },
  { header: "GPUS", cell: (node) => gpusInWords((node.inventory?.gpus ?? []).map((gpu) => gpu.name)) },
  { header: "CPUS", cell: (node) => String(node.inventory?.cpus ?? 0), right: true },
  { header: "MEMORY", cell: (node) => formatBytes(node.inventory?.memoryTotal ?? 0), right: true },
  { header: "ADDRESS", cell: (node) => node.inventory?.address ?? "" },
  { header: "SEEN", cell: (node) => ageOf(node.lastSeen, now), right: true, ticks: true },
  { header: "GPU MEMORY", cell: gpuMemory, right: true, wide: true },
  { header: "ENGINES", cell: engineWords, wide: true },
  { header: "AGENT", cell: (node) => node.inventory?.agentVersion ?? "", wide: true },
  { header: "LABELS", cell: labelWords, wide: true },
  { header: "REASON", cell: (node) => node.reasons.join("; ") },
];

function gpuMemory(node: Node): string {
  const gpus = node.inventory?.gpus ?? [];
  return gpus.length === 0 ? "" : formatBytes(sum(gpus.map((gpu) => gpu.memoryTotal)));
}

const engineWords = (node: Node): string =>
  (node.inventory?.engines ?? []).map((engine) => `${engine.name} ${engine.version}`).join(", ");

const labelWords = (node: Node): string =>
  Object.entries(node.inventory?.labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

export const profileColumns = ({ now, colours }: Looking): readonly Column<Profile>[] => [
  { header: "NAME", cell: (profile) => profile.name },
  {
    header: "READY",
    cell: (profile) => `${String(profile.ready)}/${String(profile.replicas)}`,
    right: true,
    colour: (profile) => (profile.ready >= profile.replicas ? colours.green : colours.yellow),
  },
  { header: "RANGE", cell: rangeWords, right: true },
  { header: "ENGINE", cell: (profile) => profile.engine },
  { header: "SERVES", cell: ({ serves, adapters }) => [...serves, ...adapters].join(",") },
  { header: "AGE", cell: (profile) => ageOf(profile.createdAt, now), right: true, ticks: true },
  { header: "CHANGED", cell: (profile) => ageOf(profile.updatedAt, now), right: true, wide: true, ticks: true },
  { header: "SPEC", cell: (profile) => profile.specHash, wide: true },
  { header: "SCALED", cell: ({ range }) => range?.why ?? "", wide: true },
  { header: "SOURCE", cell: (profile) => profile.source },
];

/** Between what the load of a profile decides, such as 0–4. */
const rangeWords = ({ range }: Profile): string =>
  range === undefined ? "" : `${String(range.min)}–${String(range.max)}`;

export const replicaColumns = ({ now, colours }: Looking): readonly Column<Replica>[] => [
  { header: "NAME", cell: (replica) => replica.id },
  { header: "PROFILE", cell: (replica) => replica.profile },
  {
    header: "STATE",
    cell: (replica) => replica.state,
    colour: (replica) => stateColour(replica.state, colours),
  },
  { header: "NODE", cell: nodeOfReplica },
  { header: "RESTARTS", cell: (replica) => String(replica.restarts), right: true },
  { header: "SINCE", cell: (replica) => ageOf(replica.since, now), right: true, ticks: true },
  { header: "GPUS", cell: (replica) => String(replica.gpuUuids.length), right: true, wide: true },
  { header: "FABRIC", cell: (replica) => replica.gang?.fabric ?? "", wide: true },
  { header: "ATTEMPT", cell: (replica) => String(replica.gang?.attempt ?? ""), right: true, wide: true },
  { header: "RANKS", cell: rankWords, wide: true },
  { header: "CHECK", cell: (replica) => replica.gang?.check ?? "", wide: true },
  { header: "SPEC", cell: (replica) => replica.specHash, wide: true },
  { header: "ESTIMATE", cell: estimateWords, right: true, wide: true },
  { header: "MEASURED", cell: ({ measured }) => takenWords(measured), right: true, wide: true },
  { header: "ESTIMATED", cell: (replica) => replica.estimateOrigin, wide: true },
  { header: "REASON", cell: (replica) => replica.reason },
];

/** Of one that spans nodes: its head's, and how many more there are. */
function nodeOfReplica({ node, gang }: Replica): string {
  const others = (gang?.ranks.length ?? 1) - 1;
  return others > 0 ? `${node} +${String(others)}` : node;
}

/** "0 a running, 1 b ended: killed by SIGKILL" */
const rankWords = ({ gang }: Replica): string =>
  (gang?.ranks ?? [])
    .map(({ rank, node, state, note }) => `${String(rank)} ${node} ${state}${note === "" ? "" : `: ${note}`}`)
    .join(", ");

const estimateWords = ({ estimate }: Replica): string => (estimate === undefined ? "" : formatBytes(estimate.total));

/** What runs as a process now. */
export const processColumns = ({ now, colours }: Looking): readonly Column<Replica>[] => [
  { header: "REPLICA", cell: (replica) => replica.id },
  { header: "NODE", cell: (replica) => replica.node },
  {
    header: "STATE",
    cell: (replica) => replica.state,
    colour: (replica) => stateColour(replica.state, colours),
  },
  { header: "IN FLIGHT", cell: (replica) => String(replica.inFlight), right: true },
  { header: "PID", cell: (replica) => (replica.pid === 0 ? "" : String(replica.pid)), right: true },
  {
    header: "ENDPOINT",
    cell: ({ endpoint }) => (endpoint === undefined ? "" : hostAndPort(endpoint.host, endpoint.port)),
  },
  { header: "ENGINE", cell: (replica) => replica.engine },
  { header: "SINCE", cell: (replica) => ageOf(replica.since, now), right: true, ticks: true },
  { header: "GPU IDS", cell: (replica) => replica.gpuUuids.join(","), wide: true },
];

/** The header of what a model without a ready replica waits for. */
export const WAITS = "WAITING FOR";

export const modelColumns = ({ colours }: Looking): readonly Column<Model>[] => [
  { header: "NAME", cell: (model) => model.name },
  {
    header: "READY",
    cell: (model) => `${String(model.ready)}/${String(model.replicas)}`,
    right: true,
    colour: (model) => (model.ready > 0 ? colours.green : colours.yellow),
  },
  { header: "PROFILE", cell: (model) => model.profile },
  { header: "ADAPTER OF", cell: (model) => model.parent, wide: true },
  { header: WAITS, cell: (model) => model.waitingFor },
];

export const eventColumns = ({ now, colours }: Looking): readonly Column<Event>[] => [
  { header: "AGE", cell: (event) => ageOf(event.at, now), right: true, ticks: true },
  { header: "LEVEL", cell: (event) => event.level, colour: (event) => stateColour(event.level, colours) },
  { header: "SUBJECT", cell: (event) => `${event.subjectKind}/${event.subject}` },
  { header: "REASON", cell: (event) => event.reason },
  { header: "MESSAGE", cell: (event) => event.message },
  { header: "ID", cell: (event) => String(event.id), right: true, wide: true },
];
