import { type Bytes, bytes, type Millis, millis } from "../core/ids.ts";
import { WHOLE, type WorkerPart } from "./workers/part.ts";

/** Everything of a router that is bounded. */
export interface RouterLimits {
  /** Of a request, after its Content-Encoding is undone. */
  readonly bodyBytes: Bytes;
  /** Of a body that is held so that it can be sent again; of a longer one the rest is passed on as it comes. */
  readonly keptBodyBytes: Bytes;
  readonly headerBytes: Bytes;
  /** From the first byte of a request's head to its last: what a slow-loris has. */
  readonly headTime: Millis;
  /** Between two pieces of a request's body. */
  readonly uploadIdle: Millis;
  /** Until an engine's port is connected. */
  readonly connect: Millis;
  /** From then to the first byte of its answer: the whole prefill, and all of an answer that is not streamed. */
  readonly firstByte: Millis;
  /** Between two pieces of an answer. */
  readonly idle: Millis;
  /** Silence on an event stream after which a comment line is sent. */
  readonly streamComment: Millis;
  /** How long a client's connection may be idle. */
  readonly clientIdle: Millis;
  /** What requests in flight are given when the router stops. */
  readonly stop: Millis;
  /** Requests that may wait for a slot of one profile's engines. */
  readonly queueLength: number;
  /** The longest that one waits there. */
  readonly queueWait: Millis;
  /** The longest that a request waits for the first replica of a profile to start. */
  readonly coldWait: Millis;
  /** When a stream that waits so is begun with a comment, and how often the next one follows. */
  readonly coldComment: Millis;
  /** Requests that an engine is given beyond its slots, so that it is never idle between two. */
  readonly headroom: number;
  /** Of engines' slots, this process's. */
  readonly part: WorkerPart;
  /** How often deadlines are looked at, and so how late they may be. */
  readonly tick: Millis;
}

export const DEFAULT_LIMITS: RouterLimits = {
  bodyBytes: bytes(64 * 1024 * 1024),
  // A quarter of a million tokens of text. More is pictures, and thousands of those at a time would fill the memory.
  keptBodyBytes: bytes(1024 * 1024),
  // Twice Node's default would do for today's clients; agents sign their headers with more each year.
  headerBytes: bytes(64 * 1024),
  headTime: millis(30_000),
  uploadIdle: millis(60_000),
  connect: millis(5_000),
  // A long prompt on a small machine takes minutes before its first token.
  firstByte: millis(900_000),
  idle: millis(900_000),
  // Proxies between cut a silent answer after 60 s.
  streamComment: millis(15_000),
  // Longer than the 60 s of the usual load balancers: whoever closes first must not be the router.
  clientIdle: millis(75_000),
  stop: millis(10_000),
  // Bodies are held while they wait; more than this many are better off with another router or later.
  queueLength: 1_024,
  // Clients give up after 10 minutes at the earliest; a slot on a slow machine is taken for about one.
  queueWait: millis(120_000),
  // Half of what official clients wait; weights that must be fetched first take longer than anybody waits.
  coldWait: millis(300_000),
  // Until then a wait that comes to nothing can still be told by its status; impatient proxies cut at 10 s and above.
  coldComment: millis(5_000),
  headroom: 1,
  part: WHOLE,
  tick: millis(250),
};
