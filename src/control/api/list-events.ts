import { create } from "@bufbuild/protobuf";
import { eventToWire } from "../../wire/event.ts";
import {
  type ListEventsRequest,
  type ListEventsResponse,
  ListEventsResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";

const USUAL_LIMIT = 200;
const MOST = 5_000;

export async function listEvents(
  { store }: ControlPlane,
  { after, limit, subject }: ListEventsRequest,
): Promise<ListEventsResponse> {
  const events = await store.events({
    after,
    limit: limit === 0 ? USUAL_LIMIT : Math.min(limit, MOST),
    subject: subject === "" ? undefined : subject,
  });
  return create(ListEventsResponseSchema, { events: events.map(eventToWire) });
}
