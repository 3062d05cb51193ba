import { create } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  AdminService,
  ApplyRequestSchema,
  ApplyResponseSchema,
  DeleteRequestSchema,
  DeleteResponseSchema,
} from "../wire/gen/llmgw/v1/admin_pb.js";
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

  test.each([
    { kind: "Profile", subjectKind: "profile" },
    { kind: "Alias", subjectKind: "alias" },
  ])("an order about $kind is in the record under the kind that its own events have", ({ kind, subjectKind }) => {
    const { record: applied } = ADMIN_CALLS.apply;
    const { record: deleted } = ADMIN_CALLS.delete;
    if (typeof applied !== "function" || typeof deleted !== "function") throw new Error("nothing is recorded");
    const answer = create(ApplyResponseSchema, { applied: [{ kind, name: "a", outcome: "created" }] });
    expect(applied(create(ApplyRequestSchema), answer)).toMatchObject([{ subjectKind, subject: "a" }]);
    const request = create(DeleteRequestSchema, { kind, name: "a" });
    expect(deleted(request, create(DeleteResponseSchema))).toMatchObject([{ subjectKind, subject: "a" }]);
  });

  test("routes hold the engines' keys: routers get them, viewers and operators do not", () => {
    expect(leastRole(RouterService.method.session)).toBe("router");
  });
});
