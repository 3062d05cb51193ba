import { create } from "@bufbuild/protobuf";
import pc from "picocolors";
import { describe, expect, test } from "vitest";
import { UsageRowSchema } from "../../wire/gen/llmgw/v1/usage_pb.js";
import { table } from "./table.ts";
import { usageColumns, usageCsv } from "./usage-columns.ts";

const rows = [
  create(UsageRowSchema, {
    keyId: "key-1",
    keyName: "app",
    model: "qwen3-32b",
    day: "2026-10-17",
    requests: 120,
    promptTokens: 91_000,
    cachedTokens: 70_000,
    completionTokens: 12_345,
    estimated: 2,
  }),
  create(UsageRowSchema, { keyId: "", model: '=cmd,"x"', day: "2026-10-17", requests: 1 }),
];
const by = ["key", "model", "day"] as const;

describe("usage", () => {
  test("as a table", () => {
    const look = { width: undefined, colours: pc.createColors(false) };
    expect(`\n${table(usageColumns(by), rows, look)}`).toMatchInlineSnapshot(`
      "
      KEY  MODEL      DAY         REQUESTS  PROMPT  CACHED  COMPLETION   TOTAL  ESTIMATED
      app  qwen3-32b  2026-10-17       120   91000   70000       12345  103345          2
      -    =cmd,"x"   2026-10-17         1       0       0           0       0          0
      "
    `);
  });

  test("as CSV, in which a name is never a formula", () => {
    expect(usageCsv(by, rows)).toBe(
      [
        "key,model,day,requests,prompt,cached,completion,total,estimated,key_id",
        "app,qwen3-32b,2026-10-17,120,91000,70000,12345,103345,2,key-1",
        `,"'=cmd,""x""",2026-10-17,1,0,0,0,0,0,`,
        "",
      ].join("\r\n"),
    );
    expect(usageCsv([], [])).toBe("requests,prompt,cached,completion,total,estimated\r\n");
  });
});
