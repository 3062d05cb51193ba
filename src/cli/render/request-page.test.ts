import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { GetRequestResponseSchema } from "../../wire/gen/llmgw/v1/usage_pb.js";
import { requestPage } from "./request-page.ts";

const NOW = Date.UTC(2026, 9, 17, 12);
const looking = { now: millis(NOW), colours: pc.createColors(false) };
const endedAt = timestampFromMs(NOW - 5_000);

const twice = create(GetRequestResponseSchema, {
  requests: [
    {
      router: "r1",
      record: {
        ...{
          requestId: "a",
          model: "m",
          profile: "m",
          path: "/v1/completions",
          keyName: "app",
          endedAt,
          durationMs: 900,
        },
        ...{ code: 502, outcome: "broke", detail: "the engine\u001b[2J ended in the middle", served: true },
        ...{ promptTokens: 12, completionTokens: 3, estimated: true },
        tries: [
          { replica: "m-1", replicas: 1, candidates: 1, inFlight: 0, why: "least-in-flight", failure: "it ended" },
        ],
      },
    },
    {
      router: "r1",
      record: {
        requestId: "a",
        path: "/v1/completions",
        endedAt,
        code: 404,
        outcome: "refused",
        detail: "no such model",
      },
    },
  ],
});

test("an id that was used twice: the latest first, what failed and what was never sent", () => {
  expect(requestPage(twice, looking)).toMatchInlineSnapshot(`
    "request a
      When      began 2026-10-17T11:59:54.100Z, ended 5s ago
      Asked     /v1/completions of model m
      Key       app
      Took      900ms
      Outcome   broke, status 502: the engine [2J ended in the middle
      Tokens    12 of the prompt, 3 of the answer, estimated: the engine had not said its counts
      Router    r1

    try 1: m-1 after 0ms
      Why       least-in-flight; 1 of 1 replica could take it, 0 in flight at this one
      Failed    it ended

    request a
      When      began 2026-10-17T11:59:55.000Z, ended 5s ago
      Asked     /v1/completions of no model that is served
      Took      0ms
      Outcome   refused, status 404: no such model
      Tokens    none: no engine worked on it
      Router    r1

    It was sent to no replica.
    "
  `);
});

test("on a narrow terminal words are folded, not cut, and no line is wider", () => {
  const page = requestPage(twice, { ...looking, width: 40 });
  const words = (text: string): readonly string[] => text.split(/\s+/);
  expect(words(page)).toEqual(words(requestPage(twice, looking)));
  expect(page.split("\n").filter((line) => line.length > 40)).toEqual([]);
});
