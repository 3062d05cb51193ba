import { describe, expect, test } from "vitest";
import { type Attempted, decideRetry, FAILURES, type FailureKind } from "./retry.ts";

const first: Attempted = {
  reachedClient: false,
  canGoOn: false,
  bodyRepeatable: true,
  attempts: 1,
  staleRetried: false,
};

describe("decideRetry", () => {
  test.each<{ name: string; failure: FailureKind; attempted?: Partial<Attempted>; want: string }>([
    { name: "a refused connection goes elsewhere", failure: "refused", want: "anotherReplica" },
    { name: "a stale connection is made anew to the same replica", failure: "stale", want: "sameReplica" },
    { name: "but once only", failure: "stale", attempted: { staleRetried: true }, want: "anotherReplica" },
    { name: "a reset before the answer goes elsewhere", failure: "reset", want: "anotherReplica" },
    { name: "so does garbage", failure: "garbage", want: "anotherReplica" },
    { name: "the third attempt is the last", failure: "reset", attempted: { attempts: 3 }, want: "fail" },
    { name: "a slow prompt is not made every replica's", failure: "firstByteTimeout", want: "fail" },
    {
      name: "a body that is gone cannot be sent again",
      failure: "refused",
      attempted: { bodyRepeatable: false },
      want: "fail",
    },
  ])("$name", ({ failure, attempted, want }) => {
    expect(decideRetry(failure, { ...first, ...attempted }).kind).toBe(want);
  });

  test.each<{ name: string; failure: FailureKind; attempted?: Partial<Attempted>; want: string }>([
    { name: "half an answer goes on elsewhere", failure: "broke", want: "anotherReplica" },
    { name: "one that no engine goes on with ends", failure: "broke", attempted: { canGoOn: false }, want: "fail" },
    { name: "one that has ended three engines ends", failure: "broke", attempted: { attempts: 3 }, want: "fail" },
    { name: "one that fell silent ends: the limit is long", failure: "idleTimeout", want: "fail" },
    { name: "whoever was to go on may refuse", failure: "refused", attempted: { attempts: 2 }, want: "anotherReplica" },
    { name: "a stale connection is made anew then too", failure: "stale", want: "sameReplica" },
  ])("$name", ({ failure, attempted, want }) => {
    expect(decideRetry(failure, { ...first, reachedClient: true, canGoOn: true, ...attempted }).kind).toBe(want);
  });

  test.each(Object.keys(FAILURES) as FailureKind[])("nothing is retried once the client has a byte: %s", (failure) => {
    expect(decideRetry(failure, { ...first, reachedClient: true })).toEqual({
      kind: "fail",
      code: FAILURES[failure].code,
    });
  });
});
