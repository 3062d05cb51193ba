import type { MessageInitShape } from "@bufbuild/protobuf";
import type { StoredKey } from "../../store/store.ts";
import type {
  RouterHello,
  RouterSessionRequest,
  RouterSessionResponseSchema,
} from "../../wire/gen/llmgw/v1/router_pb.js";

/** What a control plane says to a router. */
type Said = NonNullable<MessageInitShape<typeof RouterSessionResponseSchema>["body"]>;

/** One router's stream, from its hello to its end. */
export interface RouterLine {
  /** Of the router's process. */
  readonly id: string;
  say(body: Said): void;
  /** Ends the stream: the router comes back and says again what was not acknowledged. */
  fail(reason: string): void;
}

/** One concern of the sessions with routers, beside routes and keys. */
export interface RouterPart {
  opened(line: RouterLine, hello: RouterHello): void;
  heard(line: RouterLine, body: RouterSessionRequest["body"]): void;
  closed(line: RouterLine): void;
  /** The keys that are stored are others than before. */
  keysChanged(keys: readonly StoredKey[]): void;
}
