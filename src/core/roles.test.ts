import { describe, expect, test } from "vitest";
import { GRANTED_ROLES, isGrantedRole, mayDo } from "./roles.ts";

describe("who may do what", () => {
  test.each([
    { granted: "viewer", may: ["viewer"] },
    { granted: "operator", may: ["viewer", "operator"] },
    { granted: "admin", may: ["viewer", "operator", "admin", "router"] },
    { granted: "router", may: ["router"] },
  ] as const)("$granted may do what wants $may", ({ granted, may }) => {
    expect(GRANTED_ROLES.filter((least) => mayDo(granted, least))).toEqual(may);
  });

  test.each(["", "Admin", "root", "constructor"])("%j is no role", (text) => {
    expect(isGrantedRole(text)).toBe(false);
  });
});
