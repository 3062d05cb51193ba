import type { ReplicaId } from "../../core/ids.ts";
import type { EngineApi } from "../../core/engine-api.ts";
import type { Result } from "../../core/result.ts";
import type { Begun } from "../../wire/chat/speaker.ts";
import type { ChatStream } from "../../wire/chat/stream.ts";
import type { Body } from "../ask-usage.ts";
import type { Refusal } from "../error-body.ts";

/** A request to an engine, and how its answer becomes the client's. */
export interface EngineAsk {
  /** Path and query. */
  readonly target: string;
  readonly body: Body;
  /** Undefined: the answer goes on as it is. */
  rewrite(head: AnswerHead): Rewrite | undefined;
  /** Whether the body says the same to that replica. Left out: it does to each. */
  readonly fits?: (replica: ReplicaId) => boolean;
  /** The same asked as chat, of an engine that has those. Left out: this is its only form. */
  readonly asChat?: (apis: readonly EngineApi[]) => Result<EngineAsk, Refusal>;
}

interface AnswerHead {
  readonly status: number;
  readonly isStream: boolean;
  /** What the client has of the answer already, when this is to be the rest. */
  readonly begun?: Begun | undefined;
}

export type Rewrite =
  /** Event by event. */
  | { readonly kind: "events"; readonly stream: Pick<ChatStream, "push" | "finish" | "fail"> }
  /** When all of it is there. */
  | { readonly kind: "whole"; read(answer: EngineAnswer): Rewritten };

/** An answer that is no stream. */
export interface EngineAnswer {
  readonly status: number;
  readonly body: string;
}

export type Rewritten =
  /** It is as it should be. */
  | { readonly kind: "same" }
  /** JSON. */
  | { readonly kind: "answer"; readonly status: number; readonly body: string }
  /** There is more to be asked of the same engine. */
  | { readonly kind: "ask"; readonly ask: EngineAsk };

export const jsonBody = (value: unknown): Body => {
  const bytes = Buffer.from(JSON.stringify(value));
  return { chunks: [bytes], bytes: bytes.length };
};
