import { describe, expect, test } from "vitest";
import { circleRefusal, viaLine } from "./via.ts";

const via = (value?: string) => (value === undefined ? {} : { "x-llmgw-via": value });

describe("the line that a request leaves with", () => {
  test.each([
    ["the first time", undefined, "here", "here"],
    ["from another cluster", "there", "here", "there, here"],
    ["over several", "a,b,  c", "here", "a, b, c, here"],
    ["before the cluster is known", "there", "", "there, llmgw"],
    ["what is no name is left out", 'a b, "x", ok, ü', "here", "ok, here"],
  ])("%s", (_, before, cluster, want) => {
    expect(viaLine(via(before), cluster)).toBe(`x-llmgw-via: ${want}\r\n`);
  });
});

describe("a request that has come back", () => {
  test.each([
    ["not at all", undefined, "here", undefined],
    ["from others", "a, b", "here", undefined],
    ["at once", "here", "here", "leads back to its own router"],
    ["over others", "a, here, b", "here", "leads back to its own router"],
    ["nobody knows his name", "llmgw, llmgw", "", undefined],
    ["nobody knows his name, for long", Array(8).fill("llmgw").join(), "", "has passed 8 routers"],
    ["a name that only begins so", "here-too", "here", undefined],
  ])("%s", (_, before, cluster, want) => {
    const later = circleRefusal(via(before), cluster);
    if (want === undefined) expect(later).toBeUndefined();
    else
      expect(later).toEqual({
        refusal: { code: "LOOP_DETECTED", message: expect.stringContaining(want) as string },
        headers: ["x-should-retry", "false"],
      });
  });
});
