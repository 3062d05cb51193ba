import type { Profile, Replica } from "../wire/gen/llmgw/v1/admin_pb.js";

/** How far a profile is from what it asks for. */
export type ProfileLook =
  | { readonly kind: "gone" }
  | { readonly kind: "waiting"; readonly replicas: readonly Replica[]; readonly ready: number; readonly wanted: number }
  | { readonly kind: "failed"; readonly replicas: readonly Replica[]; readonly failed: Replica }
  | { readonly kind: "ready"; readonly replicas: readonly Replica[] };

/** On their way out, whatever they were. */
const LEAVING: ReadonlySet<string> = new Set(["draining", "stopping", "stopped", "lost"]);

/**
 * Judges by the replicas of the profile's present form only: after a change the old ones go on serving for a while, and
 * that says nothing about the new ones. A failed replica stays failed until something is changed, so waiting on is idle.
 */
export function lookAtProfile(profile: Profile | undefined, all: readonly Replica[]): ProfileLook {
  if (profile === undefined) return { kind: "gone" };
  const replicas = all.filter(
    (replica) =>
      replica.profile === profile.name && replica.specHash === profile.specHash && !LEAVING.has(replica.state),
  );
  const ready = replicas.filter((replica) => replica.state === "ready").length;
  if (ready >= profile.replicas) return { kind: "ready", replicas };
  const failed = replicas.find((replica) => replica.state === "failed");
  if (failed !== undefined) return { kind: "failed", replicas, failed };
  return { kind: "waiting", replicas, ready, wanted: profile.replicas };
}
