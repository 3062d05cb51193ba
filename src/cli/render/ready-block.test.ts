import { expect, test } from "vitest";
import { readyBlock } from "./ready-block.ts";

test.each(["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"])(
  "a block to paste, for %s",
  (routerUrl) => {
    expect(readyBlock({ model: "smollm2", routerUrl, program: "bin/llmgw" })).toMatchInlineSnapshot(`
      "
      Ready: smollm2 answers at http://127.0.0.1:8080/v1

        curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
          -d '{"model":"smollm2","messages":[{"role":"user","content":"Write one sentence about the sea."}]}'

      The openai client takes base_url="http://127.0.0.1:8080/v1" and any api_key. In another terminal:

        bin/llmgw ctl chat smollm2 "Write one sentence about the sea."
        bin/llmgw ctl status

      Ctrl-C stops everything, engines too.
      "
    `);
  },
);
