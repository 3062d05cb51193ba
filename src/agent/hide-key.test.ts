import { expect, test } from "vitest";
import { hideKey } from "./hide-key.ts";

test.each([
  {
    lines: ["server_args=ServerArgs(api_key='sk-1', port=1)", "ready"],
    key: "sk-1",
    is: ["server_args=ServerArgs(api_key='***', port=1)", "ready"],
  },
  { lines: ["sk-1 sk-1"], key: "sk-1", is: ["*** ***"] },
  { lines: ["no key"], key: "", is: ["no key"] },
])("$lines", ({ lines, key, is }) => {
  expect(hideKey(lines, key)).toEqual(is);
});
