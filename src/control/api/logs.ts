import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { messageOf } from "../../core/errors.ts";
import { type LogsRequest, type LogsResponse, LogsResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { readLog } from "./read-log.ts";
import { unknownName } from "./refusal.ts";

/** The engine's own output, live from its node, until it ends or the reader leaves. */
export async function* logs(
  plane: ControlPlane,
  { replica: name, tail, follow, rank }: LogsRequest,
  { signal }: Pick<HandlerContext, "signal">,
): AsyncGenerator<LogsResponse> {
  const { replicas } = plane.loop.snapshot;
  const replica = replicas.find(({ id }) => id === name);
  if (replica === undefined) {
    const known = replicas.map(({ id }) => id);
    throw unknownName("replica", name, known);
  }
  const lines = readLog(plane, replica, { tail, follow, rank, signal });
  try {
    for await (const part of lines) yield create(LogsResponseSchema, { lines: [...part] });
  } catch (error) {
    throw new ConnectError(messageOf(error), Code.Unavailable);
  }
}
