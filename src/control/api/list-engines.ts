import { create } from "@bufbuild/protobuf";
import { shareOn } from "../../core/replica-state.ts";
import {
  type ListEnginesRequest,
  type ListEnginesResponse,
  ListEnginesResponseSchema,
} from "../../wire/gen/llmgw/v1/operating_pb.js";
import { engineBuildToWire } from "../../wire/inventory.ts";
import type { ControlPlane } from "../control-plane.ts";

/** The engine builds of the nodes, in the order of nodes; of each node those that it would choose first come first. */
export function listEngines(
  { loop }: Pick<ControlPlane, "loop">,
  { node: asked }: ListEnginesRequest,
): ListEnginesResponse {
  const { nodes, replicas } = loop.snapshot;
  const engines = nodes
    .filter(({ id }) => asked === "" || id === asked)
    .flatMap(({ id, inventory }) =>
      inventory.engines.map((build) => ({
        node: id,
        build: engineBuildToWire(build),
        replicas: replicas
          .filter(({ state }) => state.kind === "ready" && state.engine === `${build.name} ${build.version}`)
          .filter(({ placement }) => shareOn(placement, id) !== undefined)
          .map((replica) => replica.id),
      })),
    );
  return create(ListEnginesResponseSchema, { engines });
}
