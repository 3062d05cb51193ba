import type { Block, BlockStep } from "../chat/blocks.ts";
import type { AnswerEnd, AnswerStart, BegunResponse, Speaker } from "../chat/speaker.ts";
import { type Fields, textOf } from "../json-value.ts";
import { namedEvent } from "../sse/splitter.ts";
import { beganResponse, endedResponse, type ResponsesAsk } from "./answer.ts";
import { responsesErrorEvent } from "./error.ts";
import { itemId, type ItemText, outputItem, partOf, toolOf } from "./items.ts";
import { customInput } from "./toolset.ts";

const NOTHING: ItemText = { text: "", logprobs: [] };
const UNKNOWN_START: AnswerStart = { id: "unknown", model: "", created: 0 };

/** Says a chat answer as the typed events of Responses, numbered from 0. */
export class ResponsesSpeaker implements Speaker {
  readonly #ask: ResponsesAsk;
  readonly #output: Fields[] = [];
  readonly #begun: BegunResponse | undefined;
  #start: AnswerStart = UNKNOWN_START;
  #sequence: number;

  /** `begun`: what another has said of it; undefined: nothing. */
  constructor(ask: ResponsesAsk, begun?: BegunResponse) {
    this.#ask = ask;
    this.#begun = begun;
    this.#sequence = begun?.sequence ?? 0;
    if (begun !== undefined) this.#start = { ...UNKNOWN_START, id: textOf(begun.response["id"]).replace(/^resp_/, "") };
  }

  begin(start: AnswerStart): string {
    this.#start = start;
    const response = beganResponse(start, this.#ask);
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  step(step: BlockStep): string {
    const item = this.#itemId(step);
    const at = { item_id: item, output_index: step.index };
    switch (step.kind) {
      case "open":
        return this.#open(step.block, at);
      case "delta":
        return this.#delta(step, at);
      case "close":
        return this.#close(step.block, step, at);
    }
  }

  #itemId({ block, index }: BlockStep): string {
    const begun = index === 0 ? this.#begun?.itemId : undefined;
    return begun ?? itemId(block, { answerId: this.#start.id, index }, this.#ask.tools);
  }

  #response(): Fields {
    return this.#begun?.response ?? beganResponse(this.#start, this.#ask);
  }

  end(end: AnswerEnd): string {
    const ended = endedResponse(end);
    const response = { ...this.#response(), ...ended, output: this.#output };
    return this.#event(ended["status"] === "completed" ? "response.completed" : "response.incomplete", { response });
  }

  /** Clients that know the failed response find it; those that look for an error find that, and it is the last. */
  fail({ message, status }: { readonly message: string; readonly status: number }): string {
    const error = { code: "server_error", message };
    const response = { ...this.#response(), status: "failed", error, output: this.#output };
    const failed = this.#event("response.failed", { response });
    return failed + responsesErrorEvent({ message, type: "upstream_error", code: String(status) }, this.#sequence++);
  }

  #open(block: Block, at: At): string {
    const item = outputItem(block, at.item_id, { said: undefined, tools: this.#ask.tools });
    const added = this.#event("response.output_item.added", { output_index: at.output_index, item });
    if (block.kind === "tool") return added;
    const part = { ...at, content_index: 0, part: partOf(block, NOTHING) };
    return added + this.#event("response.content_part.added", part);
  }

  #delta({ block, text, logprobs }: BlockStep & { readonly kind: "delta" }, at: At): string {
    if (block.kind === "text")
      return this.#event("response.output_text.delta", { ...at, content_index: 0, delta: text, logprobs });
    if (block.kind === "reasoning")
      return this.#event("response.reasoning_text.delta", { ...at, content_index: 0, delta: text });
    // A custom tool's text lies inside the arguments, and can be read only when these are whole.
    if (toolOf(block.name, this.#ask.tools).kind === "custom") return "";
    return this.#event("response.function_call_arguments.delta", { ...at, delta: text });
  }

  #close(block: Block, said: ItemText, at: At): string {
    const item = outputItem(block, at.item_id, { said, tools: this.#ask.tools });
    this.#output.push(item);
    const done = block.kind === "tool" ? this.#callDone(block, said.text, at) : this.#partDone(block, said, at);
    return done + this.#event("response.output_item.done", { output_index: at.output_index, item });
  }

  #partDone(block: Block, said: ItemText, at: At): string {
    const place = { ...at, content_index: 0 };
    const text =
      block.kind === "reasoning"
        ? this.#event("response.reasoning_text.done", { ...place, text: said.text })
        : this.#event("response.output_text.done", { ...place, ...said });
    return text + this.#event("response.content_part.done", { ...place, part: partOf(block, said) });
  }

  #callDone({ name }: Block & { readonly kind: "tool" }, args: string, at: At): string {
    const tool = toolOf(name, this.#ask.tools);
    if (tool.kind === "function")
      return this.#event("response.function_call_arguments.done", { ...at, name: tool.name, arguments: args });
    const input = customInput(args);
    const delta = this.#event("response.custom_tool_call_input.delta", { ...at, delta: input });
    return delta + this.#event("response.custom_tool_call_input.done", { ...at, input });
  }

  #event(type: string, fields: Fields): string {
    return namedEvent(type, { type, sequence_number: this.#sequence++, ...fields });
  }
}

interface At {
  readonly item_id: string;
  readonly output_index: number;
}
