import { expect, test } from "vitest";
import { BodyWatch } from "./body-watch.ts";

const USAGE = '"usage":{"prompt_tokens":13,"completion_tokens":20}';
const usage = { prompt: 13, cached: 0, completion: 20 };

test.each([
  ["a short answer", [`{"choices":[],${USAGE}}`], usage],
  [
    "counts behind 40 MB of data",
    ['{"data":[', ...Array<string>(640).fill("0.5,".repeat(16_384)), `],${USAGE}}`],
    usage,
  ],
  [
    "counts before 40 MB of data",
    [`{${USAGE},"data":[`, ...Array<string>(640).fill("0.5,".repeat(16_384)), "]}"],
    usage,
  ],
  ["counts cut between two reads", [`{"choices":[],${USAGE.slice(0, 20)}`, `${USAGE.slice(20)}}`], usage],
  ["no counts", ["{}"], undefined],
  ["nothing", [], undefined],
])("B116 usage of %s", (_name, chunks, want) => {
  const watch = new BodyWatch();
  for (const chunk of chunks) watch.push(Buffer.from(chunk));
  expect(watch.usage()).toEqual(want);
});
