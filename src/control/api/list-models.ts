import { create } from "@bufbuild/protobuf";
import { REPLICA_TRAITS } from "../../core/replica-state.ts";
import type { ModelRoute } from "../../core/route.ts";
import { type ListModelsResponse, ListModelsResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { isUpstreamId } from "../../core/upstream.ts";
import { toText } from "../../wire/scalar.ts";
import { brakeNotice } from "../attention.ts";
import type { ControlPlane } from "../control-plane.ts";

export function listModels({ loop }: ControlPlane): ListModelsResponse {
  const { models } = loop.table;
  const byName = new Map(models.map((model) => [model.name, model]));
  const counting = loop.snapshot.replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  return create(ListModelsResponseSchema, {
    notice: brakeNotice(loop.liveness),
    models: models.map((model) => {
      const answering = answeringFor(model, byName);
      const profiles = answering.map(({ profile }) => profile);
      return {
        name: model.name,
        profile: profiles.join(", "),
        ready: answering.reduce((sum, { replicas }) => sum + replicas.length, 0),
        replicas:
          counting.filter(({ profile }) => profiles.includes(profile)).length + profiles.filter(isUpstreamId).length,
        waitingFor: toText(model.waitingFor),
        parent: model.parent ?? "",
      };
    }),
  });
}

/** Those of an alias, each once; of any other name it is the model itself. */
function answeringFor(model: ModelRoute, byName: ReadonlyMap<string, ModelRoute>): readonly ModelRoute[] {
  if (model.alias === undefined) return [model];
  const names = new Set([...model.alias.targets.map((target) => target.model), ...model.alias.fallback]);
  return [...names].flatMap((name) => byName.get(name) ?? []);
}
