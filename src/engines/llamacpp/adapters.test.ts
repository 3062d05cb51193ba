import { describe, expect, test } from "vitest";
import { llamacppAdapters } from "./adapters.ts";

const { call, chooseFiles, objection } = llamacppAdapters;
const offered = (...names: readonly string[]) => names.map((name) => ({ name, bytes: 1 }));

describe("a request", () => {
  const asked = { serves: ["chat"], adapters: ["kind", "salty"] };

  test("for an adapter says of each whether it is in force", () => {
    const { fields, apis, model } = call({ ...asked, place: 1 }) ?? { fields: {} };
    expect(fields).toEqual({ lora: '[{"id":0,"scale":0},{"id":1,"scale":1}]' });
    expect(model).toBeUndefined();
    expect(apis).toContain("chat");
  });

  test.each(["messages", "embeddings", "rerank", "responses"] as const)(
    "for an adapter is none that forgets it: %s",
    (api) => {
      expect(call({ ...asked, place: 0 })?.apis).not.toContain(api);
    },
  );

  test("for the model itself says that none is, whatever is asked", () => {
    expect(call({ ...asked, place: undefined })).toEqual({
      fields: { lora: '[{"id":0,"scale":0},{"id":1,"scale":0}]' },
    });
  });
});

test.each([
  {
    name: "a GGUF",
    files: ["adapter.gguf", "README.md"],
    want: { ok: true, value: { files: ["adapter.gguf"], main: "adapter.gguf" } },
  },
  {
    name: "safetensors",
    files: ["adapter_config.json", "adapter_model.safetensors"],
    want: { ok: false, error: expect.stringMatching(/convert it with convert_lora_to_gguf\.py$/) as string },
  },
  { name: "neither", files: ["README.md"], want: { ok: false, error: expect.stringMatching(/^no GGUF/) as string } },
])("of a source with $name", ({ files, want }) => {
  expect(chooseFiles(offered(...files))).toEqual(want);
});

test.each([
  { path: "/w/a.gguf", says: undefined },
  { path: "/w/one, two/a.gguf", says: /a comma or a colon in it: \/w\/one, two\/a\.gguf$/ },
  { path: "/w/a:b.gguf", says: /a comma or a colon/ },
])("at $path", ({ path, says }) => {
  if (says === undefined) expect(objection?.(path)).toBeUndefined();
  else expect(objection?.(path)).toMatch(says);
});
