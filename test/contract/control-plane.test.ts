import { ConnectError, Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { bytes } from "../../src/core/ids.ts";
import { ScriptedAgent } from "../fakes/scripted-agent.ts";
import {
  agent,
  nodeStates,
  only,
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

describe.each(Object.entries(WAYS))("a control plane %s", (_, start) => {
  test("from a manifest to a route and back to nothing", async () => {
    const on = await site(start);
    const { applied } = await on.admin.apply({ manifest: SMOL, fileName: "smol.yaml" });
    expect(applied).toMatchObject([{ kind: "Profile", name: "smol", outcome: "created" }]);
    expect(await states(on)).toEqual(["pending"]);
    const watching = router(on);
    await expect
      .poll(() => watching.table?.models.map(({ waitingFor }) => waitingFor), soon)
      .toEqual(["no node has joined yet", "no node has joined yet"]);

    const one = agent(on, { node: "n1" });
    await expect.poll(() => one.desired?.replicas.length, soon).toBe(1);
    expect(one.received[0]?.body.case).toBe("welcome");
    const wanted = only(one.desired?.replicas);
    expect(wanted).toMatchObject({ profile: "smol", serves: ["smol", "default"], model: { source: "hf:a/b" } });
    expect(wanted.apiKey).toHaveLength(43);
    const { id } = wanted;

    const progress = { what: "fetching m.gguf", bytesDone: bytes(25), bytesTotal: bytes(100), bytesPerSecond: 5 };
    one.observe(() => ({ kind: "preparing", progress }));
    await expect.poll(() => watching.table?.models[1], soon).toMatchObject({ name: "smol", waitSeconds: 15 });
    const { models } = await on.admin.listModels({});
    expect(models.map(({ waitingFor }) => waitingFor)).toContain(
      `${id} is preparing: fetching m.gguf: 25% of 100 B, 5 B/s, 15s left`,
    );
    expect(only(await replicas(on)).progress).toMatchObject({ bytesDone: 25 });

    one.observe(() => READY);
    await expect.poll(() => watching.routesOf("default"), soon).toEqual([id]);
    expect(only(watching.table?.models[0]?.replicas)).toEqual({
      id,
      host: "127.0.0.1",
      port: 41_000,
      apiKey: wanted.apiKey,
      slots: 4,
      apis: expect.arrayContaining(["chat"]) as readonly string[],
    });
    watching.report({ [id]: 3 });
    await expect.poll(async () => (await on.admin.getStatus({})).requestsInFlight, soon).toBe(3);

    await on.admin.delete({ kind: "Profile", name: "smol" });
    await expect.poll(() => watching.table?.models, soon).toEqual([]);
    expect(await states(on)).toEqual(["draining"]);
    expect(only(await replicas(on)).reason).toContain("waiting for 3 requests in flight");
    watching.report({ [id]: 1 });
    expect(one.wants(id)).toBe(true);
    watching.report({});
    await expect.poll(() => one.wants(id), soon).toBe(false);
    expect(await states(on)).toEqual(["stopping"]);
    one.observe(() => undefined);
    await expect.poll(() => states(on), soon).toEqual([]);
    const told = await reasons(on, id);
    expect(told).toEqual([
      "ReplicaPending",
      "ReplicaPlaced",
      "ReplicaPreparing",
      "ReplicaReady",
      "ReplicaDraining",
      "ReplicaStopping",
      "ReplicaStopped",
    ]);
  });

  test("a repeat of everything changes nothing", async () => {
    const on = await site(start);
    const { agent: one } = await serving(on);
    const before = one.desired;
    const events = (await reasons(on)).length;
    const { applied } = await on.admin.apply({ manifest: SMOL });
    expect(applied[0]?.outcome).toBe("unchanged");
    await one.drop();
    const again = agent(on, { node: "n1" });
    await expect.poll(() => again.desired, soon).toEqual(before);
    expect(await states(on)).toEqual(["ready"]);
    expect(await reasons(on)).toHaveLength(events);
  });

  test("a change makes a new replica first; the old one goes when the new one is ready", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    const watching = router(on);
    await expect.poll(() => watching.routesOf("smol"), soon).toEqual([id]);
    await on.admin.apply({ manifest: `${SMOL}context: 2048\n` });
    await expect.poll(() => one.desired?.replicas.length, soon).toBe(2);
    expect(one.desired?.replicas.find((replica) => replica.id === id)?.context).toBeUndefined();
    one.observe((name) => (name === id ? READY : { kind: "starting", note: "" }));
    await expect.poll(() => states(on).then((all) => all.toSorted()), soon).toEqual(["ready", "starting"]);
    expect(watching.routesOf("smol")).toEqual([id]);
    one.observe(() => READY);
    await expect.poll(() => watching.routesOf("smol"), soon).not.toContain(id);
    expect(watching.routesOf("smol")).toHaveLength(1);
    watching.report({});
    await expect.poll(() => one.wants(id), soon).toBe(false);
  });

  test("B47 a second agent of the same name is refused, and both are named to the operator", async () => {
    const on = await site(start);
    const first = agent(on, { node: "n1", inventory: { hostname: "host-a", address: "10.0.0.1" } });
    await expect.poll(() => first.received.length, soon).toBeGreaterThan(0);
    const second = agent(on, { node: "n1", instance: "other", inventory: { hostname: "host-b", address: "10.0.0.2" } });
    await second.ended;
    const refusal = ConnectError.from(second.failure);
    expect(refusal.code).toBe(Code.AlreadyExists);
    expect(refusal.rawMessage).toBe(
      "the node id n1 is in use by the agent on host-a (10.0.0.1); this one is on host-b (10.0.0.2): give one of them another node_id",
    );
    const { nodes } = await on.admin.listNodes({});
    expect(nodes.map(({ inventory }) => inventory?.hostname)).toEqual(["host-a"]);
    await expect.poll(() => reasons(on, "n1"), soon).toEqual(["NodeJoined", "NodeRefused"]);
  });

  test("an agent that was killed and started again gets its name as soon as the old connection is gone", async () => {
    const on = await site(start);
    const { agent: first } = await serving(on);
    const second = agent(on, { node: "n1", instance: "started again" });
    await first.drop();
    await expect.poll(() => second.desired?.replicas.length, soon).toBe(1);
    // It has not looked yet what runs: no evidence against the replica.
    expect(await states(on)).toEqual(["ready"]);
  });

  test("the same agent on a new connection replaces the old one, which is ended", async () => {
    const on = await site(start);
    const first = agent(on, { node: "n1" });
    await expect.poll(() => first.received.length, soon).toBeGreaterThan(0);
    const again = agent(on, { node: "n1" });
    await first.ended;
    expect(ConnectError.from(first.failure).code).toBe(Code.Aborted);
    await expect.poll(() => again.received.length, soon).toBeGreaterThan(0);
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "ready" });
  });

  test.each([
    { name: "no hello", hello: { nodeId: "n1", instanceId: "i" }, want: /hello without an inventory/ },
    { name: "a name that is a path", hello: { nodeId: "../x", instanceId: "i" }, want: /cannot be used/ },
  ])("a hello that is wrong is refused in words: $name", async ({ hello, want }) => {
    const on = await site(start);
    const wrong = new ScriptedAgent(on.connect(), { node: hello.nodeId });
    wrong.say({ case: "hello", value: hello });
    await wrong.ended;
    expect(ConnectError.from(wrong.failure).code).toBe(Code.InvalidArgument);
    if (hello.nodeId !== "n1") expect(ConnectError.from(wrong.failure).rawMessage).toMatch(want);
  });

  test("a goodbye: the node is unreachable at once, its replica goes on", async () => {
    const on = await site(start);
    const { agent: one } = await serving(on);
    const watching = router(on);
    await one.goodbye("upgrade");
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "unreachable" });
    expect(await states(on)).toEqual(["ready"]);
    await expect.poll(() => watching.routesOf("smol").length, soon).toBe(1);
    expect(await reasons(on, "n1")).toEqual(["NodeJoined", "NodeLeft", "NodeUnreachable"]);
  });

  test("B48 unreachable clears with the first word after a reconnect, and nothing was lost meanwhile", async () => {
    const on = await site(start, { yaml: ["nodes: { unreachable_after: 400ms, lost_after: 5m }"] });
    const { agent: one, id } = await serving(on);
    const watching = router(on);
    await one.drop();
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "unreachable" });
    expect((await on.admin.getStatus({})).attention).toEqual([
      "node n1 is unreachable: its agent is silent, its engines go on serving",
    ]);
    await expect.poll(() => watching.routesOf("smol"), soon).toEqual([id]);
    const again = agent(on, { node: "n1", instance: "again" });
    await expect.poll(() => again.desired?.replicas.length, soon).toBe(1);
    again.observe(() => READY);
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "ready" });
    expect(await states(on)).toEqual(["ready"]);
    expect(await reasons(on, "n1")).toEqual(["NodeJoined", "NodeUnreachable", "NodeBack"]);
  });

  test("B137 a node that is silent for the whole limit: its replica is placed elsewhere; B50 when it is back, its copy is stopped", async () => {
    const on = await site(start, { yaml: ["nodes: { unreachable_after: 300ms, lost_after: 700ms }"] });
    const { agent: one, id } = await serving(on);
    const two = agent(on, { node: "n2" });
    const three = agent(on, { node: "n3" });
    await expect.poll(() => three.desired, soon).toBeDefined();
    await one.drop();
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "lost", n2: "ready", n3: "ready" });
    await expect.poll(() => two.desired?.replicas.length, soon).toBe(1);
    two.observe(() => READY);
    await expect
      .poll(async () => Object.fromEntries((await replicas(on)).map(({ node, state }) => [node, state])), soon)
      .toEqual({
        n1: "lost",
        n2: "ready",
      });
    const back = agent(on, { node: "n1", instance: "back" });
    await expect.poll(() => back.desired, soon).toBeDefined();
    expect(back.wants(id)).toBe(false);
    back.observe(() => READY);
    await expect.poll(() => replicas(on).then((all) => all.map(({ node }) => node)), soon).toEqual(["n2"]);
  });

  test("B50 a node whose replica has moved comes back: its copy is kept until no router has a request in flight there", async () => {
    const on = await site(start, { yaml: ["nodes: { unreachable_after: 300ms, lost_after: 700ms }"] });
    const { agent: one, id } = await serving(on);
    const watching = router(on);
    await expect.poll(() => watching.routesOf("smol"), soon).toEqual([id]);
    const two = agent(on, { node: "n2" });
    const three = agent(on, { node: "n3" });
    await expect.poll(() => three.desired, soon).toBeDefined();
    const wanted = only(one.desired?.replicas);
    await one.drop();
    await expect.poll(() => two.desired?.replicas.length, soon).toBe(1);
    two.observe(() => READY);
    const moved = only(two.desired?.replicas).id;
    await expect.poll(() => watching.routesOf("smol"), soon).toEqual([moved]);
    watching.report({ [id]: 2 });
    // Its agent was away; its engine has worked all the time.
    const { profile, specHash } = wanted;
    const observed = {
      revision: 1,
      replicas: [{ id: wanted.id, profile, specHash, state: READY, restarts: 0, pid: 7 }],
    };
    const back = agent(on, { node: "n1", instance: "back", observed });
    await expect.poll(() => back.desired, soon).toBeDefined();
    expect(back.wants(id)).toBe(true);
    const stateOf = async () => (await replicas(on)).find((replica) => replica.id === id)?.state;
    await expect.poll(stateOf, soon).toBe("draining");
    expect(watching.routesOf("smol")).toEqual([moved]);
    watching.report({ [id]: 1 });
    expect(await reasons(on, id)).toContain("ReplicaDraining");
    expect(back.wants(id)).toBe(true);
    watching.report({});
    await expect.poll(() => back.wants(id), soon).toBe(false);
    back.observe(() => READY);
    await expect.poll(() => replicas(on).then((all) => all.map(({ node }) => node)), soon).toEqual(["n2"]);
  });

  test("the brake: when too many are silent at once nothing moves, and that is said first", async () => {
    const on = await site(start, { yaml: ["nodes: { unreachable_after: 300ms, lost_after: 600ms }"] });
    const { agent: one } = await serving(on);
    await one.drop();
    await expect
      .poll(async () => (await on.admin.getStatus({})).attention[0], soon)
      .toContain("1 of 1 nodes are silent at once");
    const { admin } = on;
    const lists = [admin.listNodes({}), admin.listReplicas({}), admin.listProfiles({}), admin.listModels({})];
    for (const { notice } of await Promise.all(lists)) expect(notice).toContain("so nothing is moved");
    expect(await nodeStates(on)).toEqual({ n1: "unreachable" });
    expect(await states(on)).toEqual(["ready"]);
  });

  test("a node that stays away can be removed; one that is there cannot", async () => {
    const on = await site(start);
    const { agent: one } = await serving(on);
    await expect(on.admin.delete({ kind: "node", name: "n1" })).rejects.toThrow(/is connected: stop its agent first/);
    await one.goodbye("");
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "unreachable" });
    await on.admin.delete({ kind: "node", name: "n1" });
    expect(await nodeStates(on)).toEqual({});
    await expect.poll(() => states(on), soon).toEqual(["pending"]);
  });
});
