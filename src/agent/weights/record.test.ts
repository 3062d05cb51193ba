import fc from "fast-check";
import { expect, test } from "vitest";
import { emptyRecord, formatRecord, parseRecord, withHeld, withModel } from "./record.ts";

const record = withModel(
  withHeld(
    { ...emptyRecord, identities: ["hf:a/b"], offered: [{ name: "m.gguf", bytes: 12, sha256: undefined }] },
    { name: "m.gguf", bytes: 12, sha256: "ab" },
  ),
  { source: "hf:a/b", main: "m.gguf", files: ["m.gguf"] },
);

test("a record is read as it was written", () => {
  expect(parseRecord(formatRecord(record))).toEqual(record);
});

test("a later file or model takes the place of the earlier of its name", () => {
  const later = withModel(withHeld(record, { name: "m.gguf", bytes: 13, sha256: "cd" }), {
    source: "hf:a/b",
    main: "m.gguf",
    files: ["m.gguf", "mmproj.gguf"],
  });
  expect(later.held).toEqual([{ name: "m.gguf", bytes: 13, sha256: "cd" }]);
  expect(later.models).toHaveLength(1);
});

test("cut off anywhere, or anything else: no record, and no error", () => {
  const text = formatRecord(record);
  fc.assert(
    fc.property(fc.nat({ max: text.length - 3 }), (length) => {
      expect(parseRecord(text.slice(0, length))).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(parseRecord(JSON.stringify(value))).toBeUndefined();
    }),
  );
});
