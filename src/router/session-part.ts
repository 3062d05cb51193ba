import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RouterSessionRequestSchema, RouterSessionResponse } from "../wire/gen/llmgw/v1/router_pb.js";

/** What a router says to the control plane, and hears from it. */
export type Said = NonNullable<MessageInitShape<typeof RouterSessionRequestSchema>["body"]>;
export type Heard = RouterSessionResponse["body"];

/** One concern of the session with the control plane. There is at most one stream at a time. */
export interface SessionPart {
  /** A new stream: nothing that was said on the last one is sure to have arrived. `wake`: there is something to say. */
  opened(wake: () => void): void;
  /** What to say next; undefined: nothing now. Asked after each wake, and once a second. */
  next(): Said | undefined;
  heard(body: Heard): void;
  closed(): void;
}
