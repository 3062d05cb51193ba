import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../../test/fakes/cut.ts";
import { ContinuedStream } from "./continued-stream.ts";

const FIRST = { id: "first", created: 1, model: "m", system_fingerprint: "f" };
const chunk = (choice: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: "second", created: 2, choices: [{ index: 0, ...choice }], ...more })}\n\n`;
const say = (content: string): string => chunk({ delta: { content } });

const stream = (again = "", first: object | undefined = FIRST): ContinuedStream =>
  new ContinuedStream({ first: first as typeof FIRST, roles: new Set([0]) }, { again, tokens: 3 });

const textOf = (bytes: string): string =>
  [...bytes.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, text]) => JSON.parse(text ?? "") as string).join("");

const through = (text: string, again = "", first: object | undefined = FIRST): string => {
  const continued = stream(again, first);
  return `${continued.push(Buffer.from(text))?.toString() ?? ""}${continued.finish(undefined)?.toString() ?? ""}`;
};

describe("the rest of a stream", () => {
  test("is the same whatever reads it comes in", () => {
    const text = `: hello\n\n${chunk({ delta: { role: "assistant", content: "" } })}${say(" 北")}${say("京🌍")}data: [DONE]\n\n`;
    const whole = Buffer.from(text);
    const want = through(text);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: whole.length }), { maxLength: 8 }), (cuts) => {
        const continued = stream();
        const out = cut(whole, cuts).map((piece) => continued.push(piece) ?? Buffer.of());
        expect(Buffer.concat(out).toString() + (continued.finish(undefined)?.toString() ?? "")).toBe(want);
      }),
    );
    expect(textOf(want)).toBe(" 北京🌍");
  });

  test("has the identity of the first, and only what the first had", () => {
    expect(through(say("x"))).toContain('"id":"first","created":1');
    expect(through(chunk({ delta: { content: "x" } }, { system_fingerprint: "g" }), "", { id: "first" })).toBe(
      'data: {"id":"first","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n',
    );
  });

  test.each([
    ["a role alone is not said again", chunk({ delta: { role: "assistant", content: null } }), ""],
    ["nor one beside a text", chunk({ delta: { role: "assistant", content: "x" } }), '"delta":{"content":"x"}'],
    ["nor an empty text beside it", chunk({ delta: { role: "assistant", content: "" }, finish_reason: null }), ""],
    ["an end is", chunk({ delta: {}, finish_reason: "stop" }), '"finish_reason":"stop"'],
    ["[DONE] is", "data: [DONE]\n\n", "data: [DONE]\n\n"],
    ["an error is", 'data: {"error":{"message":"x"}}\n\n', '"error":{"message":"x"}'],
  ])("%s", (_name, text, want) => {
    if (want === "") expect(through(text)).toBe("");
    else expect(through(text)).toContain(want);
  });

  test.each([
    ["the same once more", " ", [" b"], "b"],
    ["over several events", " \n\n", [" ", "\n", "\n", "b"], "b"],
    ["less of it", "\n\n", ["\n", "b"], "b"],
    ["more of it", "\n", ["\n\n", "b"], "\nb"],
    ["other white space", " ", ["\n", " b"], "\n b"],
    ["none", " ", ["b", " c"], "b c"],
  ])("white space that the client has: %s", (_name, again, texts, want) => {
    expect(textOf(through(texts.map(say).join(""), again))).toBe(want);
  });

  test("counts the prompt once and both parts of the answer", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 9 },
    };
    const timings = { cache_n: 9, prompt_n: 1, predicted_n: 4 };
    expect(through(`data: ${JSON.stringify({ choices: [], usage, timings })}\n\n`)).toContain(
      '"usage":{"prompt_tokens":7,"completion_tokens":7,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":7}},"timings":{"cache_n":7,"prompt_n":0,"predicted_n":7}',
    );
  });
});
