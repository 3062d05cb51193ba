import { expect, test } from "vitest";
import { snapshot, stored, storedNode } from "../../test/fakes/snapshots.ts";
import { profile, replica } from "../../test/fakes/values.ts";
import { nodeId } from "../core/ids.ts";
import { attention } from "./attention.ts";

const smol = profile("smol");
const calm = { braked: [], silent: 0, watched: 3 };

test("all is well: nothing", () => {
  expect(attention(snapshot({ nodes: [storedNode("n1")], profiles: [stored(smol)] }), calm)).toEqual([]);
});

test("a profile and no node", () => {
  expect(attention(snapshot({ profiles: [stored(smol)] }), calm)).toEqual([
    "no node has joined: start `llmgw agent` on one",
  ]);
});

test("the most urgent first, and no key in it", () => {
  const rejections = [{ node: nodeId("n4"), filter: "memory", reason: "insufficient memory" }];
  const said = attention(
    snapshot({
      nodes: [
        storedNode("n1", { liveness: "unreachable" }),
        storedNode("n2", { liveness: "lost" }),
        storedNode("n3", {}, { problems: ["nvidia-smi fails"] }),
      ],
      replicas: [
        replica("a", smol, { kind: "pending", rejections }),
        replica("b", smol, { kind: "failed", reason: "bad key-of-b", lastLines: [] }),
      ],
    }),
    { braked: [nodeId("n1")], silent: 2, watched: 3 },
  );
  expect(said.map((sentence) => sentence.split(":")[0])).toEqual([
    "2 of 3 nodes are silent at once",
    "replica b failed",
    "node n2 is lost",
    "node n1 is unreachable",
    "replica a is pending",
    "node n3",
  ]);
  expect(said[1]).toBe("replica b failed: bad [its key]");
});
