import { createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { adminGate } from "./authorise.ts";

const gate = adminGate({ adminToken: "llmgw-admin-right", door: undefined });
const call = (authorization: string | undefined) => () => {
  const requestHeader = new Headers(authorization === undefined ? {} : { authorization });
  gate({ requestHeader, values: createContextValues() });
};

test.each([undefined, "", "Bearer", "llmgw-admin-right", "Basic llmgw-admin-right"])("no token: %s", (header) => {
  expect(call(header)).toThrow(/token is missing/);
});

test.each([
  "Bearer x",
  "Bearer llmgw-admin-righ",
  "Bearer llmgw-admin-right2",
  `Bearer ${"x".repeat(10_000)}`,
  "Bearer ü",
])("B118 a wrong token of any length is refused and throws nothing else: %s", (header) => {
  expect(call(header)).toThrow(/token is (wrong|missing)/);
});

test("the right one passes, in whatever case the scheme is written", () => {
  expect(call("Bearer llmgw-admin-right")).not.toThrow();
  expect(call("bearer  llmgw-admin-right ")).not.toThrow();
});
