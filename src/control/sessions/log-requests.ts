import { create } from "@bufbuild/protobuf";
import type { NodeId, ReplicaId } from "../../core/ids.ts";
import {
  type LogChunk,
  LogCancelSchema,
  LogRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "../../wire/gen/llmgw/v1/agent_pb.js";
import { Outbox } from "../outbox.ts";

/** What a reader of a log wants. */
export interface LogWish {
  readonly replica: ReplicaId;
  readonly tail: number;
  readonly follow: boolean;
}

interface LogLine {
  readonly send: (message: SessionResponse) => void;
  /** The reader has left. */
  readonly signal: AbortSignal;
}

interface Reader {
  readonly node: NodeId;
  readonly lines: Outbox<readonly string[]>;
}

/** Carries requests for logs to nodes, and the lines back to whoever asked. */
export class LogRequests {
  readonly #readers = new Map<number, Reader>();
  #lastId = 0;

  /** The lines in pieces until the log ends, the reader stops or the node's stream breaks: then an error in words. */
  async *read(node: NodeId, wish: LogWish, { send, signal }: LogLine): AsyncGenerator<readonly string[]> {
    this.#lastId += 1;
    const requestId = this.#lastId;
    const reader: Reader = { node, lines: new Outbox() };
    this.#readers.set(requestId, reader);
    let hasLeft = signal.aborted;
    const onLeave = (): void => {
      hasLeft = true;
      reader.lines.end();
    };
    signal.addEventListener("abort", onLeave);
    const request = create(LogRequestSchema, {
      requestId,
      replicaId: wish.replica,
      tail: wish.tail,
      follow: wish.follow,
    });
    try {
      send(create(SessionResponseSchema, { body: { case: "logRequest", value: request } }));
      yield* reader.lines;
    } finally {
      signal.removeEventListener("abort", onLeave);
      this.#readers.delete(requestId);
      if (hasLeft || !reader.lines.hasEnded) {
        const cancel = create(LogCancelSchema, { requestId });
        send(create(SessionResponseSchema, { body: { case: "logCancel", value: cancel } }));
      }
    }
  }

  /** A chunk of another node's request, or of one that is over, is dropped. */
  deliver(node: NodeId, { requestId, lines, done, error }: LogChunk): void {
    const reader = this.#readers.get(requestId);
    if (reader?.node !== node) return;
    if (lines.length > 0) reader.lines.push(lines);
    if (done) reader.lines.end(error === "" ? undefined : new Error(error));
  }

  streamEnded(node: NodeId): void {
    for (const reader of this.#readers.values()) {
      if (reader.node === node) reader.lines.end(new Error(`the connection to ${node} was lost`));
    }
  }
}
