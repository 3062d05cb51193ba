import type { Block, BlockStep } from "../chat/blocks.ts";
import type { AnswerEnd, AnswerStart, Speaker, WholeAnswer } from "../chat/speaker.ts";
import { type ChatUsage, NO_USAGE } from "../chat/usage.ts";
import { type Fields, isFields, parseJson } from "../json-value.ts";
import { namedEvent } from "../sse/splitter.ts";
import { anthropicErrorBody } from "./error.ts";

/** What of a Messages request its answer depends on. */
export interface MessagesAsk {
  /** Thoughts are shown only to who asked for them: others take the first block for the answer. */
  readonly wantsThinking: boolean;
  readonly stopSequences: readonly string[];
  readonly requestId: string;
}

/** The answer to a Messages request that is no stream. */
export function messageOf({ start, blocks, end }: WholeAnswer, ask: MessagesAsk): Fields {
  const shown = blocks.filter(({ block }) => isShown(block, ask));
  return {
    ...emptyMessage(start),
    content: shown.map(({ block, text }) => contentBlock(block, text)),
    ...stopOf(end, ask),
    usage: usageOf(end.usage),
  };
}

/** The same as a stream of events. */
export class MessagesSpeaker implements Speaker {
  readonly #ask: MessagesAsk;
  /** Blocks that are not shown take no number. */
  #hidden = 0;

  constructor(ask: MessagesAsk) {
    this.#ask = ask;
  }

  begin(start: AnswerStart): string {
    const message = { ...emptyMessage(start), content: [], usage: usageOf(NO_USAGE) };
    return event("message_start", { message });
  }

  step(step: BlockStep): string {
    if (!isShown(step.block, this.#ask)) {
      if (step.kind === "open") this.#hidden += 1;
      return "";
    }
    const index = step.index - this.#hidden;
    switch (step.kind) {
      case "open":
        return event("content_block_start", { index, content_block: openBlock(step.block) });
      case "delta":
        return event("content_block_delta", { index, delta: deltaOf(step.block, step.text) });
      case "close":
        return event("content_block_stop", { index });
    }
  }

  end(end: AnswerEnd): string {
    const delta = stopOf(end, this.#ask);
    return event("message_delta", { delta, usage: usageOf(end.usage) }) + event("message_stop", {});
  }

  fail(fault: { readonly message: string; readonly status: number }): string {
    return `event: error\ndata: ${anthropicErrorBody(fault, this.#ask.requestId)}\n\n`;
  }
}

const event = (type: string, fields: Fields): string => namedEvent(type, { type, ...fields });

const isShown = ({ kind }: Block, { wantsThinking }: MessagesAsk): boolean => kind !== "reasoning" || wantsThinking;

function emptyMessage({ id, model }: AnswerStart): Fields {
  const role = { type: "message", role: "assistant" };
  return { id: messageId(id), ...role, model, stop_reason: null, stop_sequence: null };
}

const messageId = (id: string): string => (id.startsWith("msg_") ? id : `msg_${id.replace(/^chatcmpl-/, "")}`);

function contentBlock(block: Block, text: string): Fields {
  switch (block.kind) {
    case "reasoning":
      return { type: "thinking", thinking: text, signature: "" };
    case "text":
      return { type: "text", text, citations: null };
    case "tool":
      return { type: "tool_use", id: block.id, name: block.name, input: inputOf(text) };
  }
}

function openBlock(block: Block): Fields {
  return block.kind === "tool" ? { ...contentBlock(block, ""), input: {} } : contentBlock(block, "");
}

function deltaOf({ kind }: Block, text: string): Fields {
  switch (kind) {
    case "reasoning":
      return { type: "thinking_delta", thinking: text };
    case "text":
      return { type: "text_delta", text };
    case "tool":
      return { type: "input_json_delta", partial_json: text };
  }
}

/** Arguments that are no object, such as those that the token limit cut: kept, so that nothing is lost. */
function inputOf(args: string): Fields {
  if (args.trim() === "") return {};
  const input = parseJson(args);
  return isFields(input) ? input : { raw_arguments: args };
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
};

function stopOf({ finish, stop, hasCalls }: AnswerEnd, { stopSequences }: MessagesAsk): Fields {
  if (finish === "stop" && stop !== undefined && stopSequences.includes(stop))
    return { stop_reason: "stop_sequence", stop_sequence: stop };
  const reason = STOP_REASONS[finish] ?? (hasCalls ? "tool_use" : "end_turn");
  return { stop_reason: reason, stop_sequence: null };
}

/** Messages count what came from a cache beside the rest of the input. */
const usageOf = ({ prompt, cached, completion }: ChatUsage): Fields => ({
  input_tokens: prompt - cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cached,
  output_tokens: completion,
});
