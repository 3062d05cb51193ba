import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type SessionRequest, SessionRequestSchema } from "../wire/gen/llmgw/v1/agent_pb.js";

export type Outgoing = NonNullable<MessageInitShape<typeof SessionRequestSchema>["body"]>;

/** Messages in a row that a slow connection may have waiting before a sender that can wait has to. */
const ROOM = 8;

/**
 * What is to be sent on one stream. Of what replaces itself only the newest waits, so that it cannot pile up; and it goes
 * before what can wait: a sign of life behind half a megabyte of a log would come too late on a slow connection.
 */
export class Outbox implements AsyncIterable<SessionRequest> {
  readonly #urgent: Outgoing[] = [];
  readonly #waiting: Outgoing[] = [];
  #isClosed = false;
  /** Of the reader that waits for a message, and of senders that wait for room. */
  #wakeReader: () => void = () => undefined;
  #wakeSenders: (() => void)[] = [];

  /** At once, in place of an older one of the same kind that has not gone yet. */
  put(body: Outgoing): void {
    if (this.#isClosed) return;
    const older = this.#urgent.findIndex((waiting) => waiting.case === body.case);
    if (older >= 0) this.#urgent[older] = body;
    else this.#urgent.push(body);
    this.#wakeReader();
  }

  /** In order among their like, as soon as the connection keeps up. False: it was closed before that. */
  async send(body: Outgoing): Promise<boolean> {
    while (this.#waiting.length >= ROOM && !this.#isClosed) {
      await new Promise<void>((resolve) => this.#wakeSenders.push(resolve));
    }
    if (this.#isClosed) return false;
    this.#waiting.push(body);
    this.#wakeReader();
    return true;
  }

  /** What waits is still sent, and then `last`; nothing more is taken. */
  close(last?: Outgoing): void {
    if (last !== undefined && !this.#isClosed) this.#waiting.push(last);
    this.#isClosed = true;
    this.#wakeReader();
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionRequest> {
    for (;;) {
      const body = this.#urgent.shift() ?? this.#waiting.shift();
      if (body !== undefined) {
        this.#wake();
        yield create(SessionRequestSchema, { body });
      } else if (this.#isClosed) {
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wakeReader = resolve));
      }
    }
  }

  #wake(): void {
    const senders = this.#wakeSenders;
    this.#wakeSenders = [];
    for (const wake of senders) wake();
  }
}
