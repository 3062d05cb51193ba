import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { AdminService } from "../wire/gen/llmgw/v1/admin_pb.js";
import { RouterService } from "../wire/gen/llmgw/v1/router_pb.js";
import { ADMIN_CALLS, leastRole } from "./access.ts";

describe("who may call what", () => {
  test("every call has its row, and no row is of no call", () => {
    expect(Object.keys(ADMIN_CALLS).toSorted()).toEqual(AdminService.methods.map((it) => it.localName).toSorted());
  });

  test.each(AdminService.methods)("$name: what changes something is no viewer's, and stays in the record", (method) => {
    const calls: Readonly<Record<string, { readonly least: string; readonly record: unknown }>> = ADMIN_CALLS;
    const rule = calls[method.localName];
    // What is streamed tells and changes nothing.
    const changes = method.idempotency !== Level.NO_SIDE_EFFECTS && method.methodKind === "unary";
    if (!changes) {
      expect(rule?.record).toBe("nothing");
      return;
    }
    expect(rule?.least).not.toBe("viewer");
    expect(rule?.record).not.toBe("nothing");
  });

  test("routes hold the engines' keys: routers get them, viewers and operators do not", () => {
    expect(leastRole(RouterService.method.session)).toBe("router");
  });
});
