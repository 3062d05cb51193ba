import { create } from "@bufbuild/protobuf";
import { type PlanRequest, type PlanResponse, PlanResponseSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import { toText } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";
import { hiddenValue } from "../hide-secrets.ts";
import { lookAtUnknown } from "../informed-apply.ts";
import { type PlannedObject, planObjects } from "../plan-change.ts";
import { objectsOf, refusedFor } from "./manifests.ts";

/** Nothing is committed. */
export async function plan(plane: ControlPlane, { files }: PlanRequest): Promise<PlanResponse> {
  const { refusals, ...wanted } = objectsOf(files);
  const looked = await lookAtUnknown(plane, wanted.profiles);
  const unreadable = await plane.upstreamSecrets.look(wanted.upstreams);
  const planned = planObjects(plane.loop.snapshot, { ...wanted, looked, gathered: plane.loop.gather() });
  const reasons = [...refusals, ...unreadable, ...(planned.ok ? [] : planned.error)];
  if (!planned.ok || reasons.length > 0) throw refusedFor(reasons);
  return create(PlanResponseSchema, { changes: planned.value.map(toWire) });
}

const toWire = ({ fields, places, sentences, ...rest }: PlannedObject) => ({
  ...rest,
  fields: fields.map(({ path, before, after }) => ({
    path,
    before: hiddenValue(path, before),
    after: hiddenValue(path, after),
  })),
  places: places.map(({ gpus, reason, ...place }) => ({ ...place, gpuUuids: [...gpus], reason: toText(reason) })),
  sentences: sentences.map(toText),
});
