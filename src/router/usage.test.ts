import { describe, expect, test } from "vitest";
import { readUsage } from "./usage.ts";

describe("readUsage", () => {
  test.each([
    [
      "chat",
      '{"usage":{"prompt_tokens":13,"completion_tokens":20,"total_tokens":33}}',
      { prompt: 13, cached: 0, completion: 20 },
    ],
    [
      "cached tokens",
      '"usage": {"prompt_tokens":13,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}',
      { prompt: 13, cached: 9, completion: 2 },
    ],
    ["embeddings", '"usage":{"prompt_tokens":5,"total_tokens":5}}', { prompt: 5, cached: 0, completion: 0 }],
    [
      "responses",
      '"usage":{"input_tokens":4,"output_tokens":6,"input_tokens_details":{"cached_tokens":1}}',
      { prompt: 4, cached: 1, completion: 6 },
    ],
    [
      "messages",
      '"usage":{"input_tokens":4,"cache_read_input_tokens":3,"output_tokens":6}',
      { prompt: 7, cached: 3, completion: 6 },
    ],
    [
      "timings alone",
      '"timings":{"cache_n":10,"prompt_n":3,"predicted_n":7}',
      { prompt: 13, cached: 10, completion: 7 },
    ],
    [
      "the last of several",
      '"usage":{"prompt_tokens":1,"completion_tokens":1}\n"usage":{"prompt_tokens":1,"completion_tokens":2}',
      { prompt: 1, cached: 0, completion: 2 },
    ],
    [
      "null in the last, counts before",
      '"usage":{"prompt_tokens":1,"completion_tokens":1}, "usage":null',
      { prompt: 1, cached: 0, completion: 1 },
    ],
    ["a word inside a message", String.raw`{"content":"\"usage\":{\"prompt_tokens\":666}"}`, undefined],
    ["nonsense counts", '"usage":{"prompt_tokens":-1,"completion_tokens":"x"}', undefined],
    ["an object that is cut", '"usage":{"prompt_tokens":1', undefined],
    ["nothing", "", undefined],
    ["the word alone, first", '"usage"', undefined],
  ])("%s", (_name, text, want) => {
    expect(readUsage(text)).toEqual(want);
  });
});
