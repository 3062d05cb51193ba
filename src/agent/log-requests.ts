import { create } from "@bufbuild/protobuf";
import { messageOf } from "../core/errors.ts";
import { replicaId, type ReplicaId } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import { LogChunkSchema, type LogRequest } from "../wire/gen/llmgw/v1/agent_pb.js";
import { streamLog } from "./log-stream.ts";
import type { Outbox } from "./outbox.ts";

interface LogRequestsOptions {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly logPathOf: (id: ReplicaId) => string | undefined;
  readonly hideKey: (id: ReplicaId, lines: readonly string[]) => readonly string[];
}

/** Answers the log requests of one stream; all of them end with it. */
export class LogRequests {
  readonly #options: LogRequestsOptions;
  readonly #open = new Map<number, AbortController>();

  constructor(options: LogRequestsOptions) {
    this.#options = options;
  }

  begin(request: LogRequest): void {
    this.cancel(request.requestId);
    const cancel = new AbortController();
    this.#open.set(request.requestId, cancel);
    void this.#answer(request, cancel.signal);
  }

  cancel(requestId: number): void {
    this.#open.get(requestId)?.abort();
    this.#open.delete(requestId);
  }

  close(): void {
    for (const cancel of this.#open.values()) cancel.abort();
    this.#open.clear();
  }

  async #answer({ requestId, replicaId: id, tail, follow }: LogRequest, signal: AbortSignal): Promise<void> {
    const { outbox, clock, logPathOf, hideKey } = this.#options;
    const send = (chunk: { lines?: string[]; done?: boolean; error?: string }): Promise<boolean> =>
      outbox.send({ case: "logChunk", value: create(LogChunkSchema, { requestId, ...chunk }) });
    const path = logPathOf(replicaId(id));
    if (path === undefined) {
      await send({ done: true, error: `this node has no replica ${id}` });
      return;
    }
    try {
      const sendLines = (lines: readonly string[]) => send({ lines: [...hideKey(replicaId(id), lines)] });
      await streamLog({ path, tail, follow }, { clock, signal, send: sendLines });
      if (!signal.aborted) await send({ done: true });
    } catch (error) {
      await send({ done: true, error: `the log cannot be read: ${messageOf(error)}` });
    }
  }
}
