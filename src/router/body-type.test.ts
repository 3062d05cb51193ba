import { describe, expect, test } from "vitest";
import { type BodyType, readAs } from "./body-type.ts";

describe("what a body is read as", () => {
  test.each<[BodyType, string | undefined, string]>([
    ["json", undefined, "json"],
    ["json", "", "json"],
    ["json", "application/json", "json"],
    ["json", "Application/JSON; charset=utf-8", "json"],
    ["json", "application/vnd.api+json", "json"],
    ["json", "text/plain;charset=UTF-8", "json"],
    ["json", "application/x-www-form-urlencoded", "json"],
    ["json", "text/html", "UNSUPPORTED_TYPE"],
    ["json", "application/xml", "UNSUPPORTED_TYPE"],
    ["json", "application/jsonp", "UNSUPPORTED_TYPE"],
    ["json", "multipart/form-data; boundary=x", "UNSUPPORTED_TYPE"],
    ["form", "multipart/form-data; boundary=x-y", "x-y"],
    ["form", 'Multipart/Form-Data; charset=utf-8; Boundary="x y"', "x y"],
    ["form", "multipart/form-data", "BAD_REQUEST"],
    ["form", "application/json", "UNSUPPORTED_TYPE"],
    ["form", undefined, "UNSUPPORTED_TYPE"],
  ])("%s sent as %j: %s", (type, contentType, want) => {
    const as = readAs(type, contentType === undefined ? {} : { "content-type": contentType });
    expect(as.kind === "refused" ? as.refusal.code : as.kind === "form" ? as.boundary : as.kind).toBe(want);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded"])("%s of a page is what it says it is", (type) => {
    const as = readAs("json", { "content-type": type, origin: "https://evil.example" });
    expect(as).toMatchObject({ kind: "refused", refusal: { code: "UNSUPPORTED_TYPE" } });
  });
});
