import { create } from "@bufbuild/protobuf";
import type { ClusterEvent } from "../core/event.ts";
import { type Event, EventSchema } from "./gen/llmgw/v1/common_pb.js";
import { toText, toTimestamp, toUint32 } from "./scalar.ts";

export const eventToWire = (event: ClusterEvent): Event =>
  create(EventSchema, {
    ...event,
    id: toUint32(event.id),
    at: toTimestamp(event.at),
    message: toText(event.message),
  });
