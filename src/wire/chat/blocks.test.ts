import { describe, expect, test } from "vitest";
import { type BlockStep, BlockReader } from "./blocks.ts";
import { readChatPiece } from "./piece.ts";

const piece = (delta: unknown) => {
  const read = readChatPiece({ id: "c", choices: [{ index: 0, delta }] });
  if (read === undefined) throw new Error("no piece");
  return read;
};

/** What happens to the blocks, in short. */
function steps(deltas: readonly unknown[]): readonly string[] {
  const reader = new BlockReader();
  const all: readonly BlockStep[] = [...deltas.flatMap((delta) => reader.push(piece(delta))), ...reader.finish()];
  return all.map((step) => {
    const { kind, index, block } = step;
    const what = block.kind === "tool" ? `${block.name}(${block.id})` : block.kind;
    return `${kind} ${String(index)} ${what}${step.kind === "open" ? "" : `: ${step.text}`}`;
  });
}

const call = (index: number, args: string, more: Readonly<Record<string, unknown>> = {}) => {
  const { name, ...rest } = more;
  return { index, ...rest, function: { arguments: args, ...(name === undefined ? {} : { name }) } };
};

describe("blocks", () => {
  test.each<{ name: string; deltas: readonly unknown[]; want: readonly string[] }>([
    {
      name: "a text in pieces, and pieces of nothing",
      deltas: [{ role: "assistant", content: "" }, { content: "Hi" }, { content: " you" }, {}],
      want: ["open 0 text", "delta 0 text: Hi", "delta 0 text:  you", "close 0 text: Hi you"],
    },
    {
      name: "thoughts by either name, then the text",
      deltas: [{ reasoning_content: "hm" }, { reasoning: "m" }, { content: "Hi" }],
      want: [
        "open 0 reasoning",
        "delta 0 reasoning: hm",
        "delta 0 reasoning: m",
        "close 0 reasoning: hmm",
        "open 1 text",
        "delta 1 text: Hi",
        "close 1 text: Hi",
      ],
    },
    {
      name: "two calls, one after the other",
      deltas: [
        { tool_calls: [call(0, "", { id: "a", name: "f" })] },
        { tool_calls: [call(0, '{"x"')] },
        { tool_calls: [call(0, ":1}"), call(1, "{}", { id: "b", name: "g" })] },
      ],
      want: [
        "open 0 f(a)",
        'delta 0 f(a): {"x"',
        "delta 0 f(a): :1}",
        'close 0 f(a): {"x":1}',
        "open 1 g(b)",
        "delta 1 g(b): {}",
        "close 1 g(b): {}",
      ],
    },
    {
      name: "a name that comes after its id and first arguments",
      deltas: [{ tool_calls: [call(0, "{", { id: "a" })] }, { tool_calls: [call(0, "}", { name: "f" })] }],
      want: ["open 0 f(a)", "delta 0 f(a): {}", "close 0 f(a): {}"],
    },
    {
      name: "a call without an id gets one",
      deltas: [{ tool_calls: [call(0, "{}", { name: "f" })] }],
      want: ["open 0 f(call_c_0)", "delta 0 f(call_c_0): {}", "close 0 f(call_c_0): {}"],
    },
    {
      name: "text after a call is a block of its own",
      deltas: [{ tool_calls: [call(0, "{}", { id: "a", name: "f" })] }, { content: "so" }],
      want: [
        "open 0 f(a)",
        "delta 0 f(a): {}",
        "close 0 f(a): {}",
        "open 1 text",
        "delta 1 text: so",
        "close 1 text: so",
      ],
    },
    { name: "nothing", deltas: [{}, { content: null }], want: [] },
  ])("$name", ({ deltas, want }) => {
    expect(steps(deltas)).toEqual(want);
  });
});

test("arguments for a call that another has followed are noticed", () => {
  const reader = new BlockReader();
  for (const tool of [call(0, "", { id: "a", name: "f" }), call(1, "", { id: "b", name: "g" }), call(0, "{}")])
    reader.push(piece({ tool_calls: [tool] }));
  expect(reader.isTangled).toBe(true);
});
