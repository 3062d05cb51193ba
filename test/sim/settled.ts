import { baseCount, specHash } from "../../src/core/profile.ts";
import { type Replica, sharesOf } from "../../src/core/replica-state.ts";
import type { Snapshot, StoredProfile } from "../../src/store/store.ts";
import type { World } from "./world.ts";

/** Everything that keeps the cluster from being what is wanted; nothing: it is. */
export function whatIsMissing(world: World): readonly string[] {
  const plane = world.plane.running;
  if (plane === undefined) return ["there is no control plane"];
  const { snapshot } = plane.loop;
  return [...nodesMissing(world, snapshot), ...replicasMissing(snapshot), ...processesMissing(world, snapshot)];
}

const nodesMissing = (world: World, { nodes }: Snapshot): readonly string[] => [
  ...nodes.flatMap(({ id, liveness }) => (liveness === "connected" ? [] : [`${id} is ${liveness}`])),
  ...(nodes.length < world.nodes.length ? ["a node has not joined"] : []),
];

function replicasMissing({ profiles, replicas }: Snapshot): readonly string[] {
  const byProfile = Map.groupBy(replicas, ({ profile }) => profile);
  const short = profiles.flatMap((stored) => profileMissing(stored, byProfile.get(stored.profile.name) ?? []));
  const names = new Set(profiles.map(({ profile }) => profile.name));
  const strays = replicas.filter(({ profile }) => !names.has(profile));
  return [...short, ...strays.map((stray) => `of no profile: ${inWords(stray)}`)];
}

function profileMissing({ profile }: StoredProfile, own: readonly Replica[]): readonly string[] {
  const hash = specHash(profile);
  const right = own.filter((replica) => replica.state.kind === "ready" && replica.specHash === hash);
  const count = baseCount(profile.replicas);
  if (right.length === count && own.length === count) return [];
  const all = own.map((one) => `${inWords(one)}${one.specHash === hash ? "" : " (old)"}`);
  return [`${profile.name} has ${String(right.length)} of ${String(count)}: ${all.join(", ")}`];
}

function inWords({ id, state }: Replica): string {
  const more = "reason" in state ? state.reason : "note" in state ? (state.note ?? "") : "";
  return `${id} ${state.kind}${more === "" ? "" : `: ${more}`}`;
}

/** Whether exactly that runs which is ready: of a replica over several nodes every rank, and nothing else. */
function processesMissing({ nodes }: World, { replicas }: Snapshot): readonly string[] {
  const wanted = replicas.flatMap(({ id, placement }) => sharesOf(placement).map(({ node }) => `${id} on ${node}`));
  const there = nodes.flatMap(({ host }) => host.engines().map(({ replica }) => `${replica} on ${host.id}`));
  return [
    ...wanted.filter((one) => !there.includes(one)).map((one) => `no process of ${one}`),
    ...there.filter((one) => !wanted.includes(one)).map((one) => `a process of ${one}, which nobody wants`),
  ];
}
