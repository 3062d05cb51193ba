import { expect, test } from "vitest";
import { sglangAdapters } from "./adapters.ts";

const asked = { serves: ["chat", "default"], adapters: ["kind", "salty"] };

test("an adapter is named behind the name that the engine was started with", () => {
  expect(sglangAdapters.call({ ...asked, place: 1 })).toMatchObject({
    model: "chat:salty",
    fields: { lora_path: "null" },
  });
});

test("whoever asks for the model itself names no adapter in a field of the engine's own", () => {
  expect(sglangAdapters.call({ ...asked, place: undefined })).toEqual({ fields: { lora_path: "null" } });
});
