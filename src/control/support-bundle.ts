import { create, type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { messageOf } from "../core/errors.ts";
import { withoutSecrets } from "../core/redact.ts";
import { type Replica, sharesOf } from "../core/replica-state.ts";
import { VERSION } from "../core/version.ts";
import * as admin from "../wire/gen/llmgw/v1/admin_pb.js";
import { GetRolloutRequestSchema, GetRolloutResponseSchema } from "../wire/gen/llmgw/v1/changing_pb.js";
import * as operating from "../wire/gen/llmgw/v1/operating_pb.js";
import { getStatus } from "./api/get-status.ts";
import { listEngines } from "./api/list-engines.ts";
import { listEvents } from "./api/list-events.ts";
import { listKeys } from "./api/list-keys.ts";
import { listModels } from "./api/list-models.ts";
import { listNodes } from "./api/list-nodes.ts";
import { listProfiles } from "./api/list-profiles.ts";
import { listReplicas } from "./api/list-replicas.ts";
import { listWeights } from "./api/list-weights.ts";
import { readLog } from "./api/read-log.ts";
import { getRollout } from "./api/rollout.ts";
import type { ControlPlane } from "./control-plane.ts";
import { secretsOut } from "./hide-secrets.ts";

export interface BundleFile {
  readonly name: string;
  readonly text: string;
}

interface BundleWish {
  /** The last lines of each engine's output. */
  readonly logLines: number;
  readonly signal: AbortSignal;
}

const EVENTS = 2_000;
/** A node that does not answer in this time has its silence written down instead. */
const LOG_WITHIN_MS = 5_000;

/** Text, or a tree of values that becomes JSON. */
type Content = string | object;
type Part = (plane: ControlPlane) => Content | Promise<Content>;

const PARTS: Readonly<Record<string, Part>> = {
  "about.txt": ({ clock }) => about(new Date(clock.now()).toISOString()),
  "versions.json": ({ loop }) => ({
    llmgw: VERSION,
    runtime: process.versions,
    system: { platform: process.platform, arch: process.arch },
    agents: Object.fromEntries(loop.snapshot.nodes.map(({ id, inventory }) => [id, inventory.agentVersion])),
  }),
  "configuration.yaml": ({ support }) => support?.configuration() ?? "",
  "metrics.txt": async ({ support }) => (await support?.metrics()) ?? "",
  "status.json": (plane) => tree(admin.GetStatusResponseSchema, getStatus(plane)),
  "nodes.json": (plane) => tree(admin.ListNodesResponseSchema, listNodes(plane, create(admin.ListNodesRequestSchema))),
  "profiles.json": (plane) => profilesTree(plane),
  "replicas.json": (plane) =>
    tree(admin.ListReplicasResponseSchema, listReplicas(plane, create(admin.ListReplicasRequestSchema))),
  "upstreams.json": ({ loop }) => ({ upstreams: loop.snapshot.upstreams.map(({ upstream }) => upstream) }),
  "models.json": (plane) => tree(admin.ListModelsResponseSchema, listModels(plane)),
  "engines.json": (plane) =>
    tree(operating.ListEnginesResponseSchema, listEngines(plane, create(operating.ListEnginesRequestSchema))),
  "weights.json": (plane) =>
    tree(operating.ListWeightsResponseSchema, listWeights(plane, create(operating.ListWeightsRequestSchema))),
  "keys.json": (plane) =>
    tree(admin.ListKeysResponseSchema, listKeys(plane, create(admin.ListKeysRequestSchema, { revoked: true }))),
  "events.json": async (plane) =>
    tree(
      admin.ListEventsResponseSchema,
      await listEvents(plane, create(admin.ListEventsRequestSchema, { limit: EVENTS })),
    ),
};

/**
 * What somebody who helps needs to see, file by file, with every secret taken out. A part that cannot be had holds the
 * reason and takes no other with it.
 */
export async function* supportBundle(
  plane: ControlPlane,
  { logLines, signal }: BundleWish,
): AsyncGenerator<BundleFile, undefined> {
  const { loop, adminToken, upstreamSecrets } = plane;
  const hide = secretsOut({ snapshot: loop.snapshot, adminToken, upstreamKeys: upstreamSecrets.keys() });
  for (const [name, part] of Object.entries(PARTS)) yield { name, text: await written(hide, () => part(plane)) };
  for (const { profile } of plane.loop.snapshot.profiles) {
    const rollout = (): Content =>
      tree(GetRolloutResponseSchema, getRollout(plane, create(GetRolloutRequestSchema, { profile: profile.name })));
    yield { name: `rollouts/${profile.name}.json`, text: await written(hide, rollout) };
  }
  for (const replica of plane.loop.snapshot.replicas) {
    for (const rank of sharesOf(replica.placement).keys()) {
      const name = `logs/${replica.id}${rank === 0 ? "" : `-rank-${String(rank)}`}.txt`;
      yield { name, text: await written(hide, () => logOf(plane, replica, { rank, logLines, signal })) };
    }
  }
  return undefined;
}

async function written(hide: (text: string) => string, part: () => Content | Promise<Content>): Promise<string> {
  try {
    const content = await part();
    if (typeof content === "string") return hide(content);
    // Each text by itself: what looks like a secret must not reach over the end of its text.
    return `${JSON.stringify(mapTexts(withoutSecrets(content), hide), undefined, 2)}\n`;
  } catch (error) {
    return hide(`This part could not be had: ${messageOf(error)}\n`);
  }
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [map(name), mapTexts(held, map)]));
}

const tree = <D extends DescMessage>(schema: D, message: MessageShape<D>): object =>
  toJson(schema, message, { alwaysEmitImplicit: true }) as object;

/** Manifests as what they are, so that what they hold is seen under its names. */
function profilesTree(plane: ControlPlane): object {
  const { profiles } = listProfiles(plane, create(admin.ListProfilesRequestSchema));
  return {
    profiles: profiles.map((profile) => ({
      ...tree(admin.ProfileSchema, profile),
      manifest: JSON.parse(profile.manifest) as unknown,
    })),
  };
}

interface LogWish extends BundleWish {
  readonly rank: number;
}

async function logOf(plane: ControlPlane, replica: Replica, { rank, logLines, signal }: LogWish): Promise<string> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(LOG_WITHIN_MS)]);
  let text = "";
  for await (const lines of readLog(plane, replica, { tail: logLines, follow: false, rank, signal: within })) {
    text += lines.map((line) => `${line}\n`).join("");
  }
  return within.aborted ? `${text}(the node did not send the rest in time)\n` : text;
}

const about = (time: string): string =>
  [
    `A support bundle of llmgw ${VERSION}, made ${time}.`,
    "",
    "Secrets were taken out: the admin token, keys of clients, replicas and upstreams, what profiles give to engines under names of",
    "secrets, and everything that looks like one. [hidden] stands in their places. Names of models, nodes, users and",
    "addresses are still in it: look through it before you send it to somebody.",
    "",
  ].join("\n");
