import { expect, test } from "vitest";
import { snapshot, storedNode } from "../../test/fakes/snapshots.ts";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import type { Snapshot } from "../store/store.ts";
import { cordonNode, drainNode, withoutFinishedDrains } from "./drain-node.ts";

const before = snapshot({ nodes: [storedNode("n1"), storedNode("n2")] });
const now = millis(1000);
const within = millis(60_000);

function after(result: ReturnType<typeof cordonNode> | ReturnType<typeof drainNode>): Snapshot {
  if (!result.ok) throw new Error(result.error.join());
  return result.value.snapshot;
}

test("cordon, drain and uncordon", () => {
  const cordoned = after(cordonNode(before, "n1", true));
  expect(cordoned.nodes).toMatchObject([{ cordoned: true }, { cordoned: false }]);
  const drained = after(drainNode(cordoned, "n1", { now, within }));
  expect(drained.nodes[0]?.drain).toEqual({ since: 1000, deadline: 61_000 });
  expect(after(cordonNode(drained, "n1", true)).nodes[0]?.drain).toBeDefined();
  const open = after(cordonNode(drained, "n1", false));
  expect(open.nodes).toEqual(before.nodes);
});

test("what changes nothing tells nothing", () => {
  const result = cordonNode(before, "n1", false);
  expect(result).toEqual({ ok: true, value: { snapshot: before, events: [], answer: undefined } });
});

test("a name that nobody has is answered with those that there are", () => {
  expect(drainNode(before, "n3", { now, within })).toEqual({ ok: false, error: ["n1", "n2"] });
});

test("a drain is over when nothing on the node holds anything of it", () => {
  const draining = after(drainNode(before, "n1", { now, within }));
  const smol = profile("smol");
  const busy = { ...draining, replicas: [replica("a", smol, { kind: "stopping", why: "" })] };
  expect(withoutFinishedDrains(busy)).toEqual(draining.nodes);
  const idle = {
    ...draining,
    replicas: [replica("a", smol, { kind: "stopped" }), replica("b", smol, ready, { on: "n2" })],
  };
  expect(withoutFinishedDrains(idle)[0]).toEqual({ ...storedNode("n1"), cordoned: true });
});
