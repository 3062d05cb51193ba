import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { shareOn } from "../../core/replica-state.ts";
import type { Snapshot, StoredNode } from "../../store/store.ts";
import {
  type ListWeightsRequest,
  type ListWeightsResponse,
  ListWeightsResponseSchema,
  type NodeWeightsSchema,
} from "../../wire/gen/llmgw/v1/operating_pb.js";
import { progressToWire } from "../../wire/progress.ts";
import type { ControlPlane } from "../control-plane.ts";
import type { MovingFile } from "../weights-desk.ts";

type NodeWeights = MessageInitShape<typeof NodeWeightsSchema>;

/** The models that nodes hold, and those that are on their way, in the order of nodes. */
export function listWeights(
  { loop, weights: desk }: Pick<ControlPlane, "loop" | "weights">,
  { node: asked }: ListWeightsRequest,
): ListWeightsResponse {
  const { snapshot } = loop;
  const moving = desk.transfers();
  const weights = snapshot.nodes
    .filter(({ id }) => asked === "" || id === asked)
    .flatMap((node) => [...held(node, snapshot), ...fetching(node, snapshot, moving.get(node.id) ?? [])]);
  return create(ListWeightsResponseSchema, { weights });
}

const held = ({ id, inventory }: StoredNode, snapshot: Snapshot): readonly NodeWeights[] =>
  inventory.weights.map(({ source, path, bytes }) => ({
    ...{ node: id, source, path, bytes, state: "held" },
    profiles: naming(source, snapshot),
  }));

/** One for each source, however many replicas of the node wait for it. */
function fetching(
  { id, inventory }: StoredNode,
  snapshot: Snapshot,
  moving: readonly MovingFile[],
): readonly NodeWeights[] {
  const isHeld = new Set(inventory.weights.map(({ source }) => source));
  const sourceOf = new Map(snapshot.profiles.map(({ profile }) => [profile.name, profile.model.source]));
  const waiting = snapshot.replicas.flatMap(({ state, placement, profile }) => {
    const source = sourceOf.get(profile);
    const isHere = shareOn(placement, id) !== undefined;
    if (source === undefined || isHeld.has(source) || !isHere || state.kind !== "preparing") return [];
    return [{ source, progress: state.progress }];
  });
  return [...Map.groupBy(waiting, ({ source }) => source)].map(([source, all]) => {
    const progress = all.find((one) => one.progress !== undefined)?.progress;
    return {
      ...{ node: id, source, path: "", state: "fetching", profiles: naming(source, snapshot) },
      from: [...new Set(moving.filter((file) => file.source === source).flatMap(({ from }) => from))].toSorted(),
      ...(progress === undefined ? {} : { bytes: progress.bytesDone, progress: progressToWire(progress) }),
    };
  });
}

const naming = (source: string, { profiles }: Snapshot): string[] =>
  profiles.filter(({ profile }) => profile.model.source === source).map(({ profile }) => profile.name);
