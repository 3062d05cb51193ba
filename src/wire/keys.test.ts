import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type KeySet, NO_LIMITS } from "../core/client-key.ts";
import { millis } from "../core/ids.ts";
import { KeySetSchema } from "./gen/llmgw/v1/router_pb.js";
import { keySetFromWire, keySetToWire } from "./keys.ts";

test("keys come out as they went in", () => {
  const set: KeySet = {
    revision: 7,
    shared: true,
    keys: [
      { id: "key-1", name: "a", sha256: "ab", models: [], limits: NO_LIMITS, expiresAt: undefined },
      {
        id: "key-2",
        name: "b",
        sha256: "cd",
        models: ["m", "org/m:tag"],
        limits: {
          requestsPerMinute: 1,
          tokensPerMinute: 2,
          concurrency: 3,
          tokensPerDay: 4,
          tokensPerMonth: 2 ** 40,
        },
        expiresAt: millis(1_700_000_000_123),
      },
    ],
  };
  expect(keySetFromWire(fromBinary(KeySetSchema, toBinary(KeySetSchema, keySetToWire(set))))).toEqual(set);
});
