import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { KeySchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { keyColumns } from "./key-columns.ts";
import { table } from "./table.ts";

const NOW = 1_700_000_000_000;
const colours = pc.createColors(false);

test("keys: who, for what, how much, until when", () => {
  const keys = [
    create(KeySchema, {
      name: "app",
      prefix: "sk-llmgw-abcdef",
      state: "active",
      models: ["m", "n"],
      limits: { requestsPerMinute: 60, concurrency: 4, tokensPerDay: 2_000_000 },
      expiresAt: timestampFromMs(NOW + 90 * 86_400_000),
      createdAt: timestampFromMs(NOW - 3_600_000),
      dayTokens: 1_250_000,
    }),
    create(KeySchema, {
      name: "old",
      prefix: "sk-llmgw-uvwxyz",
      state: "expired",
      limits: {},
      expiresAt: timestampFromMs(NOW - 60_000),
      createdAt: timestampFromMs(NOW - 7_200_000),
    }),
  ];
  expect(`\n${table(keyColumns({ now: millis(NOW), colours }), keys, { width: undefined, colours })}`)
    .toMatchInlineSnapshot(`
      "
      NAME  KEY               STATE    MODELS  LIMITS                                          BUDGET LEFT   EXPIRES  AGE
      app   sk-llmgw-abcdef…  active   m,n     60 requests/min, 4 at once, 2000000 tokens/day  750000 today  in 90d   60m
      old   sk-llmgw-uvwxyz…  expired  all     none                                            -             60s ago   2h
      "
    `);
});
