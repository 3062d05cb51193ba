import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { type DebugRequest, type DebugResponse, DebugResponseSchema } from "../../wire/gen/llmgw/v1/operating_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { supportBundle } from "../support-bundle.ts";

const USUAL_LINES = 200;
const MOST_LINES = 5_000;

export async function* debug(
  plane: ControlPlane,
  { logLines }: DebugRequest,
  { signal }: Pick<HandlerContext, "signal">,
): AsyncGenerator<DebugResponse> {
  const lines = logLines === 0 ? USUAL_LINES : Math.min(logLines, MOST_LINES);
  for await (const { name, text } of supportBundle(plane, { logLines: lines, signal })) {
    yield create(DebugResponseSchema, { name, content: new TextEncoder().encode(text) });
  }
}
