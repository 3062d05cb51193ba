import type { ChatPiece, ToolPiece } from "./piece.ts";

/** A part of an answer that Messages and Responses tell apart. */
export type Block =
  | { readonly kind: "reasoning" }
  | { readonly kind: "text" }
  | { readonly kind: "tool"; readonly id: string; readonly name: string };

/** One thing that happens to a block. Blocks come one after the other, each with the next number. */
export type BlockStep =
  | { readonly kind: "open"; readonly index: number; readonly block: Block }
  | {
      readonly kind: "delta";
      readonly index: number;
      readonly block: Block;
      readonly text: string;
      readonly logprobs: readonly unknown[];
    }
  | {
      readonly kind: "close";
      readonly index: number;
      readonly block: Block;
      /** All of its text, or of its arguments. */
      readonly text: string;
      readonly logprobs: readonly unknown[];
    };

interface Open {
  readonly index: number;
  readonly block: Block;
  /** The call's number in the chat answer; -1 for what is no call. */
  readonly call: number;
  readonly parts: string[];
  readonly logprobs: unknown[];
}

interface Said {
  readonly text: string;
  readonly logprobs: readonly unknown[];
}

const args = (text: string): Said => ({ text, logprobs: [] });

/** With what came of the same call before its name did. */
function joined(before: ToolPiece | undefined, tool: ToolPiece): ToolPiece {
  if (before?.index !== tool.index) return tool;
  return { ...tool, id: before.id === "" ? tool.id : before.id, args: before.args + tool.args };
}

/** Makes blocks of a chat answer's pieces. */
export class BlockReader {
  #blocks = 0;
  #open: Open | undefined;
  #nameless: ToolPiece | undefined;
  readonly #calls = new Set<number>();
  #answerId = "";
  /** The engine went back to a call that another had followed: what it said there belongs nowhere. */
  isTangled = false;

  /** `begun`: the text of a block that is open already, the first of all; undefined: none is. */
  constructor(begun?: string) {
    if (begun === undefined) return;
    this.#open = { index: 0, block: { kind: "text" }, call: -1, parts: [begun], logprobs: [] };
    this.#blocks = 1;
  }

  /** Whether any tool was called. */
  get hasCalls(): boolean {
    return this.#calls.size > 0;
  }

  push(piece: ChatPiece): readonly BlockStep[] {
    if (this.#answerId === "") this.#answerId = piece.id;
    const steps: BlockStep[] = [];
    if (piece.reasoning !== "") this.#say({ kind: "reasoning" }, { text: piece.reasoning, logprobs: [] }, steps);
    if (piece.text !== "") this.#say({ kind: "text" }, piece, steps);
    for (const tool of piece.tools) this.#call(tool, steps);
    return steps;
  }

  /** The answer is over. */
  finish(): readonly BlockStep[] {
    const steps: BlockStep[] = [];
    this.#close(steps);
    return steps;
  }

  #say(block: Block, said: Said, steps: BlockStep[]): void {
    if (this.#open?.block.kind !== block.kind) this.#start(block, -1, steps);
    this.#add(said, steps);
  }

  #call(tool: ToolPiece, steps: BlockStep[]): void {
    if (this.#open?.call === tool.index) {
      this.#add(args(tool.args), steps);
      return;
    }
    if (this.#calls.has(tool.index)) {
      this.isTangled = true;
      return;
    }
    const call = joined(this.#nameless, tool);
    if (call.name === "") {
      this.#nameless = call;
      return;
    }
    this.#nameless = undefined;
    this.#calls.add(call.index);
    const id = call.id === "" ? this.#callId(call.index) : call.id;
    this.#start({ kind: "tool", id, name: call.name }, call.index, steps);
    this.#add(args(call.args), steps);
  }

  /** For an engine that gives its calls no id: one that no other answer's call has. */
  #callId(index: number): string {
    return `call_${this.#answerId.replaceAll(/[^\w-]/g, "")}_${String(index)}`;
  }

  #start(block: Block, call: number, steps: BlockStep[]): void {
    this.#close(steps);
    this.#open = { index: this.#blocks, block, call, parts: [], logprobs: [] };
    this.#blocks += 1;
    steps.push({ kind: "open", index: this.#open.index, block });
  }

  #add({ text, logprobs }: Said, steps: BlockStep[]): void {
    if (this.#open === undefined || text === "") return;
    const { index, block } = this.#open;
    this.#open.parts.push(text);
    this.#open.logprobs.push(...logprobs);
    steps.push({ kind: "delta", index, block, text, logprobs });
  }

  #close(steps: BlockStep[]): void {
    if (this.#open === undefined) return;
    const { index, block, parts, logprobs } = this.#open;
    this.#open = undefined;
    steps.push({ kind: "close", index, block, text: parts.join(""), logprobs });
  }
}
