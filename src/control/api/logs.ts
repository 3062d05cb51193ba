import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { messageOf } from "../../core/errors.ts";
import { didYouMean } from "../../core/nearest.ts";
import { type LogsRequest, type LogsResponse, LogsResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { toText } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";

/** The engine's own output, live from its node, until it ends or the reader leaves. */
export async function* logs(
  { loop, agents }: ControlPlane,
  { replica: name, tail, follow }: LogsRequest,
  context: Pick<HandlerContext, "signal">,
): AsyncGenerator<LogsResponse> {
  const { replicas } = loop.snapshot;
  const replica = replicas.find(({ id }) => id === name);
  if (replica === undefined) {
    const near = didYouMean(
      name,
      replicas.map(({ id }) => id),
    );
    throw new ConnectError(`there is no replica "${name}".${near}`, Code.NotFound);
  }
  const { placement, apiKey, id } = replica;
  if (placement === undefined) {
    throw new ConnectError(`replica ${id} has no node yet, so it has no log`, Code.FailedPrecondition);
  }
  const lines = agents.readLog(placement.node, { replica: id, tail, follow }, context.signal);
  if (lines === undefined) {
    throw new ConnectError(`node ${placement.node} is not connected, and the log is there`, Code.Unavailable);
  }
  try {
    for await (const part of lines) {
      // Some engines print the options they were started with.
      yield create(LogsResponseSchema, { lines: part.map((line) => toText(line.replaceAll(apiKey, "[its key]"))) });
    }
  } catch (error) {
    throw new ConnectError(messageOf(error), Code.Unavailable);
  }
}
