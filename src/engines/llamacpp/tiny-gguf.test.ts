import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { tinyGguf } from "./tiny-gguf.ts";

test("the tiny model is the same half megabyte on every machine", () => {
  const bytes = tinyGguf();
  expect(bytes.length).toBe(470_048);
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(
    "f20a3ef0b391bbeed1df9be0b1bae6eb0d3b20f79049c3817ad1cd068f248855",
  );
});

test("the tiny model begins as a GGUF of version 3 with 21 tensors and 21 keys", () => {
  const view = new DataView(tinyGguf().buffer);
  expect(new TextDecoder().decode(tinyGguf().subarray(0, 4))).toBe("GGUF");
  expect(view.getUint32(4, true)).toBe(3);
  expect(view.getBigUint64(8, true)).toBe(21n);
  expect(view.getBigUint64(16, true)).toBe(21n);
});
