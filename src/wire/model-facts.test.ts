import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { inventory } from "../../test/fakes/values.ts";
import { bytes } from "../core/ids.ts";
import type { ModelFacts } from "../core/model-facts.ts";
import { InventorySchema, ModelFactsSchema } from "./gen/llmgw/v1/common_pb.js";
import { inventoryFromWire, inventoryToWire } from "./inventory.ts";
import { factsFromWire } from "./model-facts.ts";

const known = fc.option(fc.integer({ min: 1, max: 0xffff_ffff }), { nil: undefined });
const count = fc.nat({ max: 0xffff_ffff });

const anyFacts: fc.Arbitrary<ModelFacts> = fc.record({
  format: fc.constantFrom("gguf", "safetensors"),
  architecture: fc.string({ unit: "binary" }),
  layers: known,
  heads: known,
  kvHeads: fc.array(count, { maxLength: 4 }),
  keyLength: known,
  valueLength: known,
  latent: known,
  embedding: known,
  slidingWindow: known,
  slidingLayers: count,
  contextLength: known,
  vocabulary: known,
  experts: known,
});

test("what a node says of its models comes over as it was, with facts and without", () => {
  const held = fc.record(
    { source: fc.string(), path: fc.string(), bytes: fc.nat().map(bytes), facts: anyFacts },
    { requiredKeys: ["source", "path", "bytes"], noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(held, { maxLength: 3 }), (weights) => {
      const sent = toBinary(InventorySchema, inventoryToWire(inventory({ weights })));
      expect(inventoryFromWire(fromBinary(InventorySchema, sent)).weights).toEqual(weights);
    }),
  );
});

test("a format of a later version says nothing that could be relied on", () => {
  expect(factsFromWire(create(ModelFactsSchema, { format: "tensorzip", layers: 3 }))).toBeUndefined();
});
