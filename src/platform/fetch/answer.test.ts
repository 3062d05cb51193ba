import { describe, expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { retryTime, statusFailure } from "./answer.ts";
import { shownUrl } from "./failure.ts";
import { readReply } from "./reply.ts";

const now = millis(Date.parse("2026-01-01T00:00:00Z"));

describe("retryTime", () => {
  test.each([
    { name: "429 with seconds", status: 429, headers: { "retry-after": "60" }, wait: 60_000 },
    {
      name: "429 with a date",
      status: 429,
      headers: { "retry-after": "Thu, 01 Jan 2026 00:02:00 GMT" },
      wait: 120_000,
    },
    { name: "429 that does not say", status: 429, headers: {}, wait: 60_000 },
    { name: "429 in the draft's form", status: 429, headers: { ratelimit: '"api";r=0;t=55' }, wait: 55_000 },
    {
      name: "403 with nothing left",
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now / 1000 + 30) },
      wait: 30_000,
    },
    { name: "403 with a wait", status: 403, headers: { "retry-after": "5" }, wait: 5000 },
    {
      name: "a time that has passed",
      status: 429,
      headers: { "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" },
      wait: 0,
    },
    { name: "403 that is no limit", status: 403, headers: { "x-ratelimit-remaining": "9" }, wait: undefined },
    { name: "200 with nothing left", status: 200, headers: { "x-ratelimit-remaining": "0" }, wait: undefined },
  ])("$name", ({ status, headers, wait }) => {
    const at = retryTime(status, headers, now);
    expect(at === undefined ? undefined : at - now).toBe(wait);
  });
});

test.each([
  { status: 401, kind: "auth", retry: false },
  { status: 403, kind: "auth", retry: false },
  { status: 404, kind: "not-found", retry: false },
  { status: 410, kind: "not-found", retry: false },
  { status: 408, kind: "http", retry: true },
  { status: 503, kind: "http", retry: true },
  { status: 400, kind: "http", retry: false },
])("$status is $kind", ({ status, kind, retry }) => {
  const answer = statusFailure(status, new URL("https://u:secret@h.example/f?sig=secret"));
  expect(answer).toMatchObject({ failure: { kind }, retry });
  expect(answer.failure.message).toContain("https://h.example/f");
  expect(answer.failure.message).not.toContain("secret");
});

test("an address is shown without what may be secret", () => {
  expect(shownUrl("https://me:pw@h.example:8443/a/b?token=t#x")).toBe("https://h.example:8443/a/b");
  expect(shownUrl("not an address")).toBe("(not an address)");
});

describe("readReply", () => {
  test.each([
    {
      name: "a part",
      status: 206,
      headers: { "content-range": "bytes 6-11/12", etag: '"a"' },
      want: { kind: "part", start: 6, total: 12, validator: '"a"' },
    },
    {
      name: "a part of unknown total",
      status: 206,
      headers: { "content-range": "bytes 6-11/*" },
      want: { kind: "part", start: 6, total: undefined, validator: undefined },
    },
    {
      name: "several ranges",
      status: 206,
      headers: { "content-type": "multipart/byteranges" },
      want: { kind: "failure", status: 206 },
    },
    {
      name: "the whole",
      status: 200,
      headers: { "content-length": "12", etag: 'W/"a"', "last-modified": "then" },
      want: { kind: "whole", size: 12, validator: "then" },
    },
    { name: "chunked", status: 200, headers: {}, want: { kind: "whole", size: undefined, validator: undefined } },
    {
      name: "416",
      status: 416,
      headers: { "content-range": "bytes */12" },
      want: { kind: "no-such-range", total: 12 },
    },
    { name: "404", status: 404, headers: {}, want: { kind: "failure", status: 404 } },
  ])("$name", ({ status, headers, want }) => {
    expect(readReply(status, headers)).toEqual(want);
  });
});
