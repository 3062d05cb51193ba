import type { EngineFault } from "../engine-error.ts";
import type { BlockStep } from "./blocks.ts";
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
