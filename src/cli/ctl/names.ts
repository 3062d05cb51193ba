import { LlmgwError } from "../../core/errors.ts";
import { didYouMean } from "../../core/nearest.ts";
import { upstreamNameOf } from "../../core/upstream.ts";
import type { AdminClient } from "../../run/client.ts";
import type { Call, ObjectKind } from "../command.ts";

/** The names of all objects of a kind. */
export const NAMES_OF: Readonly<Record<ObjectKind, (client: AdminClient) => Promise<readonly string[]>>> = {
  node: async (client) => (await client.listNodes({})).nodes.map((node) => node.id),
  profile: async (client) => (await client.listProfiles({})).profiles.map((profile) => profile.name),
  replica: async (client) => (await client.listReplicas({})).replicas.map((replica) => replica.id),
  // None is without a model.
  upstream: async (client) => {
    const names = (await client.listModels({})).models.map(({ profile }) => upstreamNameOf(profile));
    return [...new Set(names.filter((name) => name !== undefined && !name.includes(",")))] as readonly string[];
  },
  model: async (client) => (await client.listModels({})).models.map((model) => model.name),
  key: async (client) => (await client.listKeys({})).keys.map((key) => key.name),
  token: async (client) => (await client.listTokens({})).tokens.map((token) => token.name || token.id),
};

function unknownName(kind: ObjectKind, name: string, known: readonly string[]): LlmgwError {
  const others = known.length === 0 ? ` There are no ${kind}s.` : "";
  return new LlmgwError("NOT_FOUND", `There is no ${kind} "${name}".${didYouMean(name, known)}${others}`);
}

/** "node/gpu-a-01" and "gpu-a-01" are the same to a verb that takes nodes only. */
export const bareName = (kind: ObjectKind, name: string): string =>
  name.startsWith(`${kind}/`) ? name.slice(kind.length + 1) : name;

/** The object's name as the control plane has it. Fails with what was probably meant when there is none. */
export async function knownName(client: AdminClient, kind: ObjectKind, asked: string): Promise<string> {
  const name = bareName(kind, asked);
  const known = await NAMES_OF[kind](client);
  if (!known.includes(name)) throw unknownName(kind, name, known);
  return name;
}

/** The node that --node names; "" when none was named. */
export async function nodeFilter(client: AdminClient, { flags }: Call): Promise<string> {
  const asked = flags.text("node");
  return asked === undefined ? "" : knownName(client, "node", asked);
}

/** A replica by its name, by the beginning of it, or by its profile when that has only one. */
export async function findReplica(client: AdminClient, asked: string): Promise<string> {
  const name = bareName("replica", asked);
  const { replicas } = await client.listReplicas({});
  const ids = replicas.map((replica) => replica.id);
  if (ids.includes(name)) return name;
  const profile = bareName("profile", asked);
  const ofProfile = replicas
    .filter((replica) => replica.profile === profile && replica.state !== "stopped")
    .map((replica) => replica.id);
  const begun = ids.filter((id) => id.startsWith(name));
  const candidates = ofProfile.length > 0 ? ofProfile : begun;
  const [only, ...more] = candidates;
  if (only !== undefined && more.length === 0) return only;
  if (candidates.length > 1) {
    throw new LlmgwError("BAD_REQUEST", `"${asked}" could be any of these replicas: ${candidates.join(", ")}.`);
  }
  throw unknownName("replica", name, [...ids, ...new Set(replicas.map((replica) => replica.profile))]);
}
