import { expect, test } from "vitest";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica } from "../core/replica-state.ts";
import { modelRoutes } from "./routes.ts";

const before = profile("chat", { serves: ["chat", "default"], adapters: { salty: "hf:a/salty" } });
const now = profile("chat", { serves: ["chat", "default"], adapters: { salty: "hf:a/salty", kind: "hf:a/kind" } });

const routes = (replicas: readonly Replica[], specs: readonly Profile[] = [before, now]) =>
  new Map(
    modelRoutes(
      snapshot({ profiles: [stored(now)], specs: specs.map(storedSpec), replicas, nodes: [storedNode("n1")] }),
      new Map(),
    ).map((route) => [route.name, route]),
  );

const vllm = { ...ready, engine: "vllm 0.33.0" };
const sglang = { ...ready, engine: "sglang 0.5.9" };

test("an adapter's name leads to the replicas that were started with it, each asked as its engine has it", () => {
  const found = routes([replica("a", now, ready), replica("b", now, sglang), replica("c", now, vllm)]);
  expect([...found.keys()]).toEqual(["chat", "default", "kind", "salty"]);
  const salty = found.get("salty");
  expect(salty).toMatchObject({ profile: "chat", parent: "chat", waitingFor: "" });
  expect(salty?.replicas.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(salty?.calls).toMatchObject({
    a: { fields: { lora: '[{"id":0,"scale":0},{"id":1,"scale":1}]' } },
    b: { model: "chat:salty" },
  });
  expect(Object.keys(salty?.calls ?? {})).toEqual(["a", "b"]);
  expect(found.get("default")?.calls?.["a"]?.fields).toEqual({ lora: '[{"id":0,"scale":0},{"id":1,"scale":0}]' });
});

test("while a profile is changed, nobody is asked for an adapter that it was not started with", () => {
  const found = routes([replica("old", before, ready)]);
  expect(found.get("salty")?.replicas.map(({ id }) => id)).toEqual(["old"]);
  expect(found.get("salty")?.calls?.["old"]?.fields).toEqual({ lora: '[{"id":0,"scale":1}]' });
  expect(found.get("kind")).toMatchObject({ replicas: [], waitingFor: "no replica has been started with it yet" });
});

test("a profile without adapters has nothing to say to engines", () => {
  const plain = profile("plain");
  const [route] = modelRoutes(
    snapshot({ profiles: [stored(plain)], specs: [storedSpec(plain)], replicas: [replica("a", plain, ready)] }),
    new Map(),
  );
  expect(route?.calls).toBeUndefined();
  expect(route?.parent).toBeUndefined();
});
