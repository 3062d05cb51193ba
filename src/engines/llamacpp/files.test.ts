import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseFiles, QUANTISATIONS } from "./files.ts";

const offered = (...names: readonly string[]) => names.map((name) => ({ name, bytes: 1 }));

describe("chooseFiles", () => {
  test.each<{ name: string; offers: readonly string[]; files: readonly string[]; main?: string }>([
    { name: "the only GGUF", offers: ["README.md", "m.gguf", "config.json"], files: ["m.gguf"] },
    { name: "Q4_K_M before all", offers: ["m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-F16.gguf"], files: ["m-Q4_K_M.gguf"] },
    { name: "then Q8_0", offers: ["m-F16.gguf", "m-Q2_K.gguf", "m-Q8_0.gguf"], files: ["m-Q8_0.gguf"] },
    { name: "lower case and dots", offers: ["m.f16.gguf", "m.q4_k_m.gguf"], files: ["m.q4_k_m.gguf"] },
    { name: "a folder's name counts", offers: ["Q2_K/m.gguf", "Q4_K_M/m.gguf"], files: ["Q4_K_M/m.gguf"] },
    { name: "IQ4_XS is no Q4 of another kind", offers: ["m-IQ4_XS.gguf", "m-Q4_0.gguf"], files: ["m-Q4_0.gguf"] },
    { name: "calibration data is no model", offers: ["m-Q6_K.gguf", "imatrix_Q4_K_M.gguf"], files: ["m-Q6_K.gguf"] },
    {
      name: "a projector comes along, in half precision",
      offers: ["mmproj-model-f32.gguf", "mmproj-model-f16.gguf", "m-Q4_K_M.gguf"],
      files: ["m-Q4_K_M.gguf", "mmproj-model-f16.gguf"],
    },
    {
      name: "a projector named after its model",
      offers: ["m-mmproj-BF16.gguf", "m-Q4_K_M.gguf"],
      files: ["m-Q4_K_M.gguf", "m-mmproj-BF16.gguf"],
    },
    {
      name: "B57 all shards, the first as main, whatever the order of the listing",
      offers: ["m-00002-of-00002.gguf", "m-00001-of-00002.gguf"],
      files: ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"],
    },
    {
      name: "shards of the preferred quantisation, not the single file",
      offers: ["m-F16.gguf", "m-Q4_K_M-00002-of-00002.gguf", "m-Q4_K_M-00001-of-00002.gguf"],
      files: ["m-Q4_K_M-00001-of-00002.gguf", "m-Q4_K_M-00002-of-00002.gguf"],
    },
  ])("$name", ({ offers, files }) => {
    expect(chooseFiles(offered(...offers))).toEqual({ ok: true, value: { files, main: files[0] } });
  });

  test.each([
    { name: "nothing", offers: [], says: /no files/ },
    { name: "another format", offers: ["model.safetensors"], says: /safetensors, which llama.cpp does not read/ },
    { name: "only a projector", offers: ["mmproj-f16.gguf"], says: /no GGUF model/ },
    { name: "B57 the second shard alone", offers: ["m-00002-of-00002.gguf"], says: /one of 2 shards, and only 1/ },
    {
      name: "two models of one kind",
      offers: ["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"],
      says: /several models.*name one file/,
    },
    { name: "two models of no known kind", offers: ["a.gguf", "b.gguf"], says: /a\.gguf, b\.gguf/ },
  ])("refuses $name", ({ offers, says }) => {
    expect(chooseFiles(offered(...offers))).toMatchObject({ ok: false, error: expect.stringMatching(says) as string });
  });

  test("the order of the listing changes nothing", () => {
    const names = [...QUANTISATIONS.map((quantisation) => `m-${quantisation}.gguf`), "mmproj-F16.gguf", "README.md"];
    fc.assert(
      fc.property(fc.shuffledSubarray(names, { minLength: 1 }), (some) => {
        expect(chooseFiles(offered(...some))).toEqual(chooseFiles(offered(...some.toSorted())));
      }),
    );
  });
});
