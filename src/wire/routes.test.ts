import { fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AdapterCall } from "../core/adapter.ts";
import { profileName } from "../core/ids.ts";
import { RouteTableSchema } from "./gen/llmgw/v1/router_pb.js";
import { routeTableFromWire, routeTableToWire } from "./routes.ts";

const text = fc.string({ unit: "binary" });
const words = fc.string({ unit: "binary", minLength: 1 });
const names = fc.oneof(text, fc.constantFrom("__proto__", "constructor"));
const map = <T>(values: fc.Arbitrary<T>, minKeys = 0) =>
  fc.dictionary(names, values, { minKeys, maxKeys: 3, noNullPrototype: true });
const call: fc.Arbitrary<AdapterCall> = fc.oneof(
  fc.record({ fields: map(text) }),
  fc.record({ model: words, apis: fc.constant(["chat" as const]), fields: map(text) }),
);

test("how replicas are asked for an adapter comes back as it was told", () => {
  const route = { replicas: [], created: 1, waitingFor: "", waitSeconds: 0 };
  const models = fc.record({ name: text, parent: words, calls: map(call, 1) });
  fc.assert(
    fc.property(models, (named) => {
      const table = { revision: 1, models: [{ ...route, profile: profileName("p"), ...named }] };
      const bytes = toBinary(RouteTableSchema, routeTableToWire(table));
      expect(routeTableFromWire(fromBinary(RouteTableSchema, bytes))).toEqual(table);
    }),
  );
});
