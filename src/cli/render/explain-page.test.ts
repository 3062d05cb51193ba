import { create } from "@bufbuild/protobuf";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { ExplainResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { explainPage } from "./explain-page.ts";

const GIB = 2 ** 30;
const looking = { now: millis(0), colours: pc.createColors(false) };

const answer = create(ExplainResponseSchema, {
  profile: "llama",
  replica: "llama-x1",
  state: "pending",
  reason: "no node takes it: a: is cordoned",
  source: "hf:acme/llama-GGUF",
  basis: "header",
  origin: "from the model's header on node c",
  adapters: [
    { name: "kind", source: "hf:acme/kind", bytes: 12 * 2 ** 20 },
    { name: "salty", source: "file:/srv/salty" },
  ],
  kvPerToken: 131_072,
  onCpu: { context: 8192, weights: 5 * GIB, kvCache: GIB, overhead: 1.5 * GIB, total: 7.5 * GIB, host: 7.5 * GIB },
  onGpus: [{ gpus: 2, context: 0, weights: 5 * GIB, kvCache: GIB, overhead: 2 * GIB, total: 8 * GIB, perGpu: 4 * GIB }],
  nodes: [
    {
      node: "a",
      refusals: [
        { rule: "cordoned", reason: "is cordoned", changes: ["uncordon it"] },
        { rule: "memory", reason: "needs 7.5 GiB", changes: ["free 2.0 GiB of memory", "set context to 4096 or less"] },
      ],
    },
    { node: "b", score: 4.2 },
    { node: "c", here: true, refusals: [{ rule: "gpus", reason: "has none", changes: [] }] },
  ],
});

test("what it takes part by part, then each node's every no with the smallest change", () => {
  expect(explainPage(answer, looking)).toMatchInlineSnapshot(`
    "llama-x1
      State     pending: no node takes it: a: is cordoned
      Model     hf:acme/llama-GGUF
      Adapter   kind: hf:acme/kind, 12 MiB
      Adapter   salty: file:/srv/salty
      Estimate  from the model's header on node c
      Cache     128 KiB for each token

    ON      CONTEXT  WEIGHTS    CACHE  OVERHEAD    TOTAL  EACH GPU     HOST
    CPU        8192  5.0 GiB  1.0 GiB   1.5 GiB  7.5 GiB         -  7.5 GiB
    2 GPUs  unknown  5.0 GiB  1.0 GiB   2.0 GiB  8.0 GiB   4.0 GiB      0 B

    NODE  ANSWER  RULE      WHY                     SMALLEST CHANGE
    a     no      cordoned  is cordoned             uncordon it
    a     no      memory    needs 7.5 GiB           free 2.0 GiB of memory, or set context to 4096 or less
    b     yes     -         would take it           -
    c     here    gpus      for one more: has none  -
    "
  `);
});

test("a profile without any node", () => {
  const empty = create(ExplainResponseSchema, { profile: "p", source: "s", origin: "nobody knows", onCpu: {} });
  expect(explainPage(empty, looking)).toMatch(
    /^p\n {2}Model {5}s\n {2}Estimate {2}nobody knows\n[\s\S]*No node has joined yet\.\n$/,
  );
});

test("on a narrow terminal reasons are folded, not cut, and no line is wider", () => {
  const page = explainPage(answer, { ...looking, width: 40 });
  expect(page.slice(page.indexOf("\na  no") + 1)).toMatchInlineSnapshot(`
    "a  no
      cordoned: is cordoned
      it would do: uncordon it
    a  no
      memory: needs 7.5 GiB
      it would do: free 2.0 GiB of memory,
      or set context to 4096 or less
    b  yes
      would take it
    c  here
      gpus: for one more: has none
    "
  `);
  const narrow = page.split("\n").slice(page.split("\n").indexOf("a  no"));
  expect(narrow.filter((line) => line.length > 40)).toEqual([]);
});

test("a profile that follows its load says how many it wants, and why", () => {
  const scaled = create(ExplainResponseSchema, {
    ...{ profile: "llama", wanted: 2, range: { min: 1, max: 4, why: "for 9 requests, 8 for each replica" } },
  });
  expect(explainPage(scaled, looking)).toContain("  Replicas  2 of 1 to 4: for 9 requests, 8 for each replica\n");
});
