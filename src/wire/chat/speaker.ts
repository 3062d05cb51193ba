import type { EngineFault } from "../engine-error.ts";
import type { BlockStep } from "./blocks.ts";
import type { Fields } from "../json-value.ts";
import type { ChatUsage } from "./usage.ts";

export interface AnswerStart {
  readonly id: string;
  readonly model: string;
  /** Unix seconds; 0 unknown. */
  readonly created: number;
}

export interface AnswerEnd {
  /** Chat's finish_reason. */
  readonly finish: string;
  /** The stop sequence that was met, where the engine tells. */
  readonly stop: string | undefined;
  readonly usage: ChatUsage;
  readonly hasCalls: boolean;
}

/** What a client has of an answer whose rest is to be said. */
export interface Begun {
  /** Of the block of text that is open, the first of all; undefined: no block has begun. */
  readonly text: string | undefined;
  /** Only of Responses. */
  readonly part?: BegunResponse;
}

export interface BegunResponse {
  readonly response: Fields;
  /** Of the item that the text is of; undefined: none has begun. */
  readonly itemId: string | undefined;
  /** The number of the next event. */
  readonly sequence: number;
}

/** Says a chat answer as the events of another API. Each method answers with what goes to the client, "" for nothing. */
export interface Speaker {
  begin(start: AnswerStart): string;
  step(step: BlockStep): string;
  end(end: AnswerEnd): string;
  /** The last that is said. */
  fail(fault: Pick<EngineFault, "message" | "status">): string;
}

/** A block that is whole. */
export type DoneBlock = BlockStep & { readonly kind: "close" };

/** A chat answer that is no stream. */
export interface WholeAnswer {
  readonly start: AnswerStart;
  readonly blocks: readonly DoneBlock[];
  readonly end: AnswerEnd;
}
