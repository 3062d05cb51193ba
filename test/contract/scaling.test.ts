import { describe, expect, test } from "vitest";
import type { ScriptedAgent } from "../fakes/scripted-agent.ts";
import { agent, only, READY, reasons, replicas, router, site, soon, states, WAYS } from "./callers.ts";
import type { Site } from "./site.ts";

const ranged = (range: string, more = ""): string =>
  `kind: Profile\nname: smol\nmodel: { source: hf:a/b }\nreplicas: ${range}\n${more}`;

const desired = (one: ScriptedAgent): number => one.desired?.replicas.length ?? 0;
const profileOf = async (on: Site) => only((await on.admin.listProfiles({})).profiles);

describe.each(Object.entries(WAYS))("scaling by load, %s", (_, start) => {
  test("from none on a request, by its target when it serves, and down again after idle, each drained", async () => {
    const on = await site(start);
    await on.admin.apply({ manifest: ranged("{ min: 0, max: 3, target_in_flight: 8, idle: 600ms }") });
    const one = agent(on, { node: "n1" });
    const asking = router(on);
    await expect.poll(() => asking.table?.models, soon).toMatchObject([{ name: "smol", holds: true }]);
    expect(await replicas(on)).toEqual([]);
    asking.waits({ smol: 100 });
    await expect.poll(() => desired(one), soon).toBe(1);
    expect((await profileOf(on)).range?.why).toContain("whether more are needed is seen when one is ready");
    one.observe(() => READY);
    await expect.poll(() => desired(one), soon).toBe(3);
    one.observe(() => READY);
    await expect.poll(() => states(on), soon).toEqual(["ready", "ready", "ready"]);
    await expect.poll(() => asking.routesOf("smol").length, soon).toBe(3);
    const [busy = ""] = asking.routesOf("smol");
    asking.report({ [busy]: 8 });
    await expect.poll(() => asking.routesOf("smol").length, soon).toBe(1);
    asking.report({ [busy]: 8 });
    // What is in flight keeps the engine, and the need for one replica.
    await expect.poll(() => desired(one), soon).toBe(asking.routesOf("smol")[0] === busy ? 1 : 2);
    asking.report({});
    await expect.poll(() => asking.routesOf("smol").length, soon).toBe(0);
    asking.report({});
    await expect.poll(() => desired(one), soon).toBe(0);
    one.observe(() => undefined);
    await expect.poll(() => replicas(on), soon).toEqual([]);
    expect((await reasons(on, "smol")).filter((reason) => reason.startsWith("Scaled"))).toEqual([
      "ScaledUp",
      "ScaledUp",
      "ScaledDown",
      "ScaledDown",
    ]);
  });

  test("a router that is silent still has what it last said", async () => {
    const on = await site(start);
    await on.admin.apply({ manifest: ranged("{ min: 0, max: 3, target_in_flight: 8, idle: 200ms }") });
    const one = agent(on, { node: "n1" });
    const [silent, other] = [router(on, "silent"), router(on, "other")];
    await expect.poll(() => silent.table?.models[0]?.holds, soon).toBe(true);
    silent.waits({ smol: 1 });
    await expect.poll(() => desired(one), soon).toBe(1);
    one.observe(() => READY);
    await expect.poll(() => silent.routesOf("smol").length, soon).toBe(1);
    const [id = ""] = silent.routesOf("smol");
    silent.report({ [id]: 1 });
    other.report({});
    await expect.poll(async () => (await profileOf(on)).range?.why, soon).toBe("for 1 request, 8 for each replica");
    await silent.drop();
    // Its stream is gone, and five times idle pass in which only the other one speaks.
    const { since } = only(await replicas(on));
    await expect
      .poll(async () => Date.now() - Number(since?.seconds ?? 0n) * 1000 > 2_000 && (await states(on)), soon)
      .toEqual(["ready"]);
  });

  test("a start that its node gives up on holds nobody any longer", async () => {
    const on = await site(start);
    await on.admin.apply({ manifest: ranged("{ min: 0, max: 1 }") });
    const one = agent(on, { node: "n1" });
    const asking = router(on);
    await expect.poll(() => asking.table?.models[0]?.holds, soon).toBe(true);
    asking.waits({ smol: 1 });
    await expect.poll(() => desired(one), soon).toBe(1);
    one.observe(() => ({ kind: "failed", reason: "no such file", lastLines: [] }));
    await expect.poll(() => asking.table?.models[0]?.waitingFor, soon).toContain("no such file");
    expect(asking.table?.models[0]?.holds).toBeUndefined();
  });

  test("a change goes by the number that the load wants; a number in words is refused, and what to do is said", async () => {
    const on = await site(start);
    await on.admin.apply({ manifest: ranged("{ min: 0, max: 2, target_in_flight: 1 }") });
    const one = agent(on, { node: "n1" });
    const asking = router(on);
    await expect.poll(() => asking.table?.models[0]?.holds, soon).toBe(true);
    asking.waits({ smol: 2 });
    await expect.poll(() => desired(one), soon).toBe(1);
    one.observe(() => READY);
    await expect.poll(() => desired(one), soon).toBe(2);
    one.observe(() => READY);
    await expect.poll(() => states(on), soon).toEqual(["ready", "ready"]);
    await on.admin.apply({ manifest: ranged("{ min: 0, max: 2, target_in_flight: 1 }", 'args: ["--new"]\n') });
    await expect.poll(() => desired(one), soon).toBe(3);
    expect(asking.routesOf("smol")).toHaveLength(2);
    expect(await on.admin.getRollout({ profile: "smol" })).toMatchObject({ wanted: 2, state: "underway" });
    await expect(on.admin.scale({ profile: "smol", replicas: 1 })).rejects.toThrow(/follows its load, between 0 and 2/);
    expect(await on.admin.explain({ name: "smol" })).toMatchObject({ wanted: 2, range: { max: 2 } });
  });
});
