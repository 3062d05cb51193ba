import { describe, expect, test } from "vitest";
import { profileManifest } from "../../src/config/profile.ts";
import { bytes } from "../../src/core/ids.ts";
import type { ScriptedAgent } from "../fakes/scripted-agent.ts";
import { GiB, profile } from "../fakes/values.ts";
import {
  agent,
  nodeStates,
  READY,
  reasons,
  replicas,
  router,
  serving,
  site,
  SMOL,
  soon,
  states,
  WAYS,
} from "./callers.ts";
import type { Site } from "./site.ts";

const CHANGED = `${SMOL}args: ["--new"]\n`;

/** What every replica is and where, as "ready on n1". */
const places = async (on: Site): Promise<readonly string[]> =>
  (await replicas(on)).map(({ state, node }) => (node === "" ? state : `${state} on ${node}`)).toSorted();

/** Until the agent has something to run beside what it had, and says that all of it is ready. */
async function takesUp(one: ScriptedAgent, but: string): Promise<string> {
  const others = () => (one.desired?.replicas ?? []).filter(({ id }) => id !== but).map(({ id }) => id);
  await expect.poll(others, soon).toHaveLength(1);
  one.observe(() => READY);
  return others()[0] ?? "";
}

describe.each(Object.entries(WAYS))("changing things %s", (_, start) => {
  test("a drain: another is ready elsewhere before the node's replica goes, and the node stays closed", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    const two = agent(on, { node: "n2" });
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "ready", n2: "ready" });
    const watching = router(on);
    await expect.poll(() => watching.routesOf("smol"), soon).toEqual([id]);
    const { sentences } = await on.admin.drain({ node: "n1" });
    expect(sentences).toEqual(["a replica of smol is made on n2 first"]);
    await expect.poll(() => two.desired?.replicas.length, soon).toBe(1);
    expect(watching.routesOf("smol")).toEqual([id]);
    expect((await on.admin.listNodes({ id: "n1" })).nodes).toMatchObject([{ cordoned: true, draining: true }]);
    const other = await takesUp(two, id);
    await expect.poll(() => watching.routesOf("smol"), soon).toEqual([other]);
    watching.report({});
    await expect.poll(() => one.wants(id), soon).toBe(false);
    one.observe(() => undefined);
    await expect
      .poll(async () => (await on.admin.listNodes({ id: "n1" })).nodes, soon)
      .toMatchObject([{ cordoned: true, draining: false, replicas: [] }]);
    expect(await reasons(on, "n1")).toEqual(["NodeJoined", "NodeDraining", "Ordered", "NodeDrained"]);
    await on.admin.cordon({ node: "n1", cordoned: false });
    expect((await on.admin.listNodes({ id: "n1" })).nodes).toMatchObject([{ cordoned: false }]);
  });

  test("a drain without room elsewhere: it says so, waits, and at the deadline they go anyway", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    const { sentences } = await on.admin.drain({ node: "n1", withinSeconds: 1 });
    expect(sentences[0]).toContain(`there is no room elsewhere for ${id} (n1: `);
    await expect
      .poll(async () => (await on.admin.getStatus({})).attention.join("\n"), soon)
      .toContain(`node n1 is being drained, but ${id} waits for room elsewhere`);
    await expect.poll(() => one.wants(id), soon).toBe(false);
    one.observe(() => undefined);
    await expect.poll(() => reasons(on, "n1"), soon).toContain("NodeDrained");
    expect(await states(on)).toContain("pending");
  });

  test("a restart of one replica: a fresh one takes its place", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    expect(await on.admin.restart({ name: "smol" })).toMatchObject({ profile: "smol", replicas: [id] });
    const fresh = await takesUp(one, id);
    await expect.poll(() => one.wants(id), soon).toBe(false);
    one.observe(() => READY);
    await expect.poll(async () => (await replicas(on)).map((all) => all.id), soon).toEqual([fresh]);
    await expect(on.admin.restart({ name: "smool" })).rejects.toThrow(/Did you mean "?smol/);
  });

  test("a form that fails is taken back by itself, with the reason; the old one has served all the time", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    await on.admin.apply({ manifest: CHANGED });
    await expect.poll(() => one.desired?.replicas.length, soon).toBe(2);
    one.observe((seen) => (seen === id ? READY : { kind: "failed", reason: "unknown flag --new", lastLines: [] }));
    await expect.poll(() => reasons(on, "smol"), soon).toContain("RolledBack");
    await expect.poll(() => one.desired?.replicas.map((wanted) => wanted.id), soon).toEqual([id]);
    one.observe(() => READY);
    await expect.poll(() => places(on), soon).toEqual(["ready on n1"]);
    const { revisions, state } = await on.admin.getRollout({ profile: "smol" });
    expect(state).toBe("complete");
    expect(revisions.map(({ origin, outcome }) => `${origin} ${outcome}`)).toEqual([
      "apply ready",
      "apply failed",
      "rollback ready",
    ]);
    expect(revisions[1]?.why).toContain("unknown flag --new");
    await expect(on.admin.undoRollout({ profile: "smol" })).rejects.toThrow(/no earlier revision/);
  });

  test("scale and undo", async () => {
    const on = await site(start);
    await serving(on);
    expect(await on.admin.scale({ profile: "smol", replicas: 2 })).toMatchObject({ before: 1 });
    await expect.poll(() => replicas(on), soon).toHaveLength(2);
    await on.admin.apply({ manifest: CHANGED });
    expect((await on.admin.getRollout({ profile: "smol" })).revisions).toHaveLength(2);
    expect(await on.admin.undoRollout({ profile: "smol" })).toMatchObject({ revision: 1 });
    await expect.poll(async () => (await on.admin.getRollout({ profile: "smol" })).revisions, soon).toHaveLength(3);
  });

  test("scaled down and up again while one still finishes what it has: that one is taken back", async () => {
    const on = await site(start);
    await on.admin.apply({ manifest: `${SMOL}replicas: 2\n` });
    const agents = ["n1", "n2"].map((node) => agent(on, { node }));
    const watching = router(on);
    const ids = () => replicas(on).then((all) => all.map(({ id }) => id).toSorted());
    await expect.poll(() => ids(), soon).toHaveLength(2);
    await expect.poll(() => agents.reduce((sum, one) => sum + (one.desired?.replicas.length ?? 0), 0), soon).toBe(2);
    for (const one of agents) one.observe(() => READY);
    await expect.poll(() => watching.routesOf("smol").length, soon).toBe(2);
    const before = await ids();
    watching.report(Object.fromEntries(before.map((id) => [id, 1])));
    await on.admin.scale({ profile: "smol", replicas: 1 });
    await expect.poll(() => states(on).then((all) => all.toSorted()), soon).toEqual(["draining", "ready"]);
    await expect.poll(() => watching.routesOf("smol").length, soon).toBe(1);
    await on.admin.scale({ profile: "smol", replicas: 2 });
    await expect.poll(() => states(on), soon).toEqual(["ready", "ready"]);
    expect(await ids()).toEqual(before);
    await expect.poll(() => watching.routesOf("smol").length, soon).toBe(2);
  });

  test("a plan changes nothing, and says what would follow", async () => {
    const on = await site(start);
    await serving(on);
    const before = await replicas(on);
    const plan = async (manifest: string) => (await on.admin.plan({ files: [{ manifest, fileName: "f" }] })).changes;
    expect(await plan(SMOL)).toMatchObject([{ outcome: "unchanged" }]);
    expect(await plan(CHANGED)).toMatchObject([
      { outcome: "changed", restarted: 1, fields: [{ path: "args" }], places: [{ node: "n1", fetches: true }] },
    ]);
    await expect(plan("kind: Profile\nname: q\n")).rejects.toThrow(/model/);
    expect(await replicas(on)).toEqual(before);
  });

  test("what is exported is applied to the same, here and elsewhere", async () => {
    const on = await site(start);
    const rich = profile("rich", {
      args: ["--a", "b: c", "#d"],
      env: { X: "1", Y: "yes", HF_TOKEN: "hf_0123456789abcdefghij" },
      nodeSelector: { rack: "12" },
      context: 4096,
      resources: { nodes: 1, memory: bytes(GiB) },
      replicas: { kind: "fixed", count: 0 },
    });
    await on.admin.apply({ manifest: `${SMOL}---\n${profileManifest(rich)}` });
    const { profiles } = await on.admin.listProfiles({});
    const { manifest: text } = await on.admin.export({});
    expect(profiles.map(({ manifest }) => manifest).join()).not.toContain("hf_");
    const again = await on.admin.apply({ manifest: text });
    expect(again.applied.map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged"]);
    const other = await site(start);
    await other.admin.apply({ manifest: text });
    expect((await other.admin.export({})).manifest).toBe(text);
    const restored = (await other.admin.listProfiles({})).profiles;
    expect(restored.map(({ name, manifest, specHash }) => ({ name, manifest, specHash }))).toEqual(
      profiles.map(({ name, manifest, specHash }) => ({ name, manifest, specHash })),
    );
  });

  test("B137 the brake, with several nodes: more than its share are silent, nothing moves, and that stands first; then they are back", async () => {
    const on = await site(start, { yaml: ["nodes: { unreachable_after: 300ms, lost_after: 600ms, brake: 0.5 }"] });
    const { agent: one, id } = await serving(on);
    const watching = router(on);
    const two = agent(on, { node: "n2" });
    const three = agent(on, { node: "n3" });
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "ready", n2: "ready", n3: "ready" });
    await Promise.all([one.drop(), two.drop()]);
    await expect
      .poll(async () => (await on.admin.getStatus({})).attention[0], soon)
      .toContain("2 of 3 nodes are silent at once");
    expect(await places(on)).toEqual(["ready on n1"]);
    expect(watching.routesOf("smol")).toEqual([id]);
    expect(three.desired?.replicas ?? []).toEqual([]);
    const back = agent(on, { node: "n1", instance: "back" });
    await expect.poll(() => back.wants(id), soon).toBe(true);
    back.observe(() => READY);
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "ready", n2: "lost", n3: "ready" });
    expect(await places(on)).toEqual(["ready on n1"]);
    expect(await reasons(on, id)).not.toContain("ReplicaLost");
  });
});
