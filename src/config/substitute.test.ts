import { describe, expect, test } from "vitest";
import { substitute } from "./substitute.ts";

const env = { HOST: "gpu-1", EMPTY: "", GONE: undefined };

describe("environment variables in values", () => {
  test.each([
    ["${HOST}", "gpu-1"],
    ["http://${HOST}:7443", "http://gpu-1:7443"],
    ["${HOST}${HOST}", "gpu-1gpu-1"],
    ["${NONE:-spare}", "spare"],
    ["${NONE:-}", ""],
    ["${NONE:-a:-b}", "a:-b"],
    ["${EMPTY:-spare}", "spare"],
    ["${EMPTY}", ""],
    ["$HOST", "$HOST"],
    ["$${HOST}", "${HOST}"],
    ["100$", "100$"],
  ])("%s", (text, want) => {
    expect(substitute(text, env)).toEqual({ ok: true, value: want });
  });

  test.each([
    ["${NONE}", ["NONE, which is not set"]],
    ["${GONE}", ["GONE, which is not set"]],
    ["${A}${B}", ["A, which is not set", "B, which is not set"]],
    ["${HOST", ["no variable"]],
    ["${}", ["no variable"]],
    ["${HO ST}", ["no variable"]],
    ["${HOST:+x}", ["no variable"]],
    ["${constructor}", ["constructor, which is not set"]],
  ])("%s is refused", (text, want) => {
    const result = substitute(text, env);
    expect(result).toEqual({ ok: false, error: want.map((part) => expect.stringContaining(part) as unknown) });
  });
});
