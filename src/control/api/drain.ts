import { create } from "@bufbuild/protobuf";
import { millis } from "../../core/ids.ts";
import { type DrainRequest, type DrainResponse, DrainResponseSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import { toText, toTimestamp } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";
import { drainNode, USUAL_DRAIN_MINUTES } from "../drain-node.ts";
import { drainForecast } from "../forecast.ts";
import { unknownName } from "./refusal.ts";

export async function drain({ loop, clock }: ControlPlane, request: DrainRequest): Promise<DrainResponse> {
  const { node, withinSeconds } = request;
  const within = millis(1000 * (withinSeconds === 0 ? USUAL_DRAIN_MINUTES * 60 : withinSeconds));
  const wish = { now: clock.now(), within };
  // Asked before the order is given: afterwards the first of what follows has happened already.
  const tried = drainNode(loop.snapshot, node, wish);
  const sentences = tried.ok ? drainForecast(tried.value.snapshot, loop.gather(), node) : [];
  const done = await loop.change((snapshot) => drainNode(snapshot, node, wish));
  if (!done.ok) throw unknownName("node", node, done.error);
  return create(DrainResponseSchema, {
    deadline: toTimestamp(done.value.deadline),
    sentences: sentences.map(toText),
  });
}
