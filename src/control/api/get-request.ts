import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type GetRequestRequest,
  type GetRequestResponse,
  GetRequestResponseSchema,
} from "../../wire/gen/llmgw/v1/usage_pb.js";
import { recordToWire } from "../../wire/usage.ts";
import type { ControlPlane } from "../control-plane.ts";

/** What became of the last requests with this id. Only those that are over, a second or more ago. */
export async function getRequest(
  { store }: Pick<ControlPlane, "store">,
  { requestId }: GetRequestRequest,
): Promise<GetRequestResponse> {
  const kept = requestId === "" ? [] : await store.usage.requests(requestId);
  if (kept.length === 0) {
    const where = "It may still run, or be older than the last ten thousand requests or a day.";
    throw new ConnectError(`There is no request "${requestId}" among the last ones. ${where}`, Code.NotFound);
  }
  const requests = kept.map(({ instance, record }) => ({ router: instance, record: recordToWire(record) }));
  return create(GetRequestResponseSchema, { requests });
}
