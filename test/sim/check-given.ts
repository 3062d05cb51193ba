import type { Profile } from "../../src/core/profile.ts";
import { type Replica, REPLICA_TRAITS, type Share, sharesOf } from "../../src/core/replica-state.ts";
import type { Snapshot, StoredNode } from "../../src/store/store.ts";
import { MiB } from "../fakes/values.ts";
import type { NodeForm } from "./forms.ts";
import type { Breach } from "./rules.ts";

/** Of each of the cluster's GPUs. */
export const GPU_BYTES = 24_000 * MiB;

/** GPUs of which more is booked than there is. */
export function doubleBookings({ replicas }: Pick<Snapshot, "replicas">): readonly Breach[] {
  const bookings = replicas
    .filter(({ state }) => REPLICA_TRAITS[state.kind].holdsResources)
    .flatMap(({ id, placement }) => sharesOf(placement).map(({ gpus, gpuMemory }) => ({ id, gpus, gpuMemory })))
    .flatMap(({ id, gpus, gpuMemory }) => gpus.map((gpu) => ({ id, gpu, gpuMemory })));
  return [...Map.groupBy(bookings, ({ gpu }) => gpu)].flatMap(([gpu, on]): readonly Breach[] => {
    const bytes = on.reduce((sum, { gpuMemory }) => sum + gpuMemory, 0);
    const what = `${gpu} is booked for ${on.map(({ id }) => id).join(" and ")}`;
    return bytes > GPU_BYTES ? [{ rule: "no GPU is given twice", what }] : [];
  });
}

/** Replicas that were placed since `before` and should not have been placed there. `formOf`: what the nodes truly are. */
export function wrongPlaces(
  before: Snapshot | undefined,
  after: Snapshot,
  formOf: (node: string) => NodeForm | undefined,
): readonly Breach[] {
  const had = new Map(before?.replicas.map((replica) => [replica.id, replica.placement]));
  const placed = after.replicas.filter(({ id, placement }) => placement !== undefined && had.get(id) === undefined);
  return placed.flatMap((replica) => [...refusals(replica, after, formOf), ...strayGang(replica, formOf)]);
}

function refusals(
  replica: Replica,
  { nodes, specs, profiles }: Snapshot,
  formOf: (node: string) => NodeForm | undefined,
): readonly Breach[] {
  const spec = specs.find((one) => one.profile === replica.profile && one.specHash === replica.specHash)?.spec;
  // Where replicas may go can change without a new form.
  const profile = profiles.find((one) => one.profile.name === replica.profile)?.profile ?? spec;
  return sharesOf(replica.placement).flatMap((share): readonly Breach[] => {
    const known = nodes.find((node) => node.id === share.node);
    const why = whyNot({ share, known, form: formOf(share.node), profile });
    const what = `${replica.id} was placed on ${share.node}, which ${why ?? ""}`;
    return why === undefined ? [] : [{ rule: "no replica is on a node that refused it", what }];
  });
}

interface Place {
  readonly share: Share;
  readonly known: StoredNode | undefined;
  readonly form: NodeForm | undefined;
  readonly profile: Profile | undefined;
}

function whyNot({ share, known, form, profile }: Place): string | undefined {
  if (known === undefined || form === undefined) return "is not there";
  if (known.cordoned) return "is cordoned";
  if (known.liveness !== "connected") return `is ${known.liveness}`;
  const bad = known.inventory.gpus.find(({ uuid, problem }) => problem !== undefined && share.gpus.includes(uuid));
  if (bad !== undefined) return `says that ${bad.uuid} ${bad.problem ?? ""}`;
  return profile === undefined ? undefined : whyNotFor(profile, share, form);
}

function whyNotFor({ nodeSelector, resources }: Profile, { gpus }: Share, { rack }: NodeForm): string | undefined {
  const wanted = nodeSelector["rack"] ?? rack;
  if (rack !== wanted) return `is not in the rack ${wanted}`;
  return gpus.length === (resources.gpus ?? 0) ? undefined : `gave ${String(gpus.length)} GPUs`;
}

function strayGang({ id, placement }: Replica, formOf: (node: string) => NodeForm | undefined): readonly Breach[] {
  if (placement?.gang === undefined) return [];
  const fabrics = new Set(sharesOf(placement).map(({ node }) => formOf(node)?.fabric ?? ""));
  if (fabrics.size === 1 && fabrics.has(placement.gang.fabric)) return [];
  const names = [...fabrics].map((name) => (name === "" ? "none" : name)).join(" and ");
  return [{ rule: "a gang is on one fabric, with all ranks or none", what: `${id} is on the fabrics ${names}` }];
}
