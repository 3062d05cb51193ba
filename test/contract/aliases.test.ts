import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { agent, READY, router, site, SMOL, WAYS } from "./callers.ts";

const ALIAS = "kind: Alias\nname: chat\ntargets: [{ profile: smol, weight: 2 }]\nfallback: [other]\n";
const OTHER = SMOL.replace("smol\nserves: [smol, default]", "other\nserves: [second]");
const soon = { timeout: 10_000 };

describe.each(Object.entries(WAYS))("aliases: a control plane %s", (_, start) => {
  test("applied with its profiles or not at all, routed, exported, kept, and deleted before them", async () => {
    const on = await site(start);
    const apply = (manifest: string) => on.admin.apply({ manifest });
    const refusal = async (manifest: string): Promise<string> =>
      ConnectError.from(await apply(manifest).catch((error: unknown) => error)).rawMessage;

    expect(await refusal(`${SMOL}---\n${ALIAS}`)).toContain('there is no profile "other"');
    expect((await on.admin.listProfiles({})).profiles).toEqual([]);

    const { applied } = await apply([ALIAS, SMOL, OTHER].join("---\n"));
    expect(applied.map(({ kind, name, outcome }) => [kind, name, outcome])).toEqual([
      ["Profile", "smol", "created"],
      ["Profile", "other", "created"],
      ["Alias", "chat", "created"],
    ]);
    expect(await refusal(SMOL.replace("default", "chat"))).toContain("chat");

    const watching = router(on);
    await expect
      .poll(() => watching.table?.models.find(({ name }) => name === "chat")?.alias, soon)
      .toMatchObject({ targets: [{ model: "smol", weight: 2 }], fallback: ["second"] });
    const one = agent(on, { node: "n1" });
    await expect.poll(() => one.desired?.replicas.length, soon).toBe(2);
    one.observe(() => READY);
    const modelOf = async (name: string) => (await on.admin.listModels({})).models.find((model) => model.name === name);
    await expect.poll(async () => (await modelOf("chat"))?.ready, soon).toBe(2);

    const { changes } = await on.admin.plan({
      files: [{ manifest: ALIAS.replace("weight: 2", "weight: 3"), fileName: "a" }],
    });
    expect(changes).toMatchObject([{ kind: "Alias", name: "chat", outcome: "changed" }]);
    const { manifest } = await on.admin.export({});
    expect(manifest).toContain("kind: Alias\nname: chat\n");
    const again = await apply(manifest);
    expect(new Set(again.applied.map(({ outcome }) => outcome))).toEqual(new Set(["unchanged"]));

    const held = ConnectError.from(
      await on.admin.delete({ kind: "Profile", name: "other" }).catch((error: unknown) => error),
    );
    expect([held.code, held.rawMessage]).toEqual([
      Code.FailedPrecondition,
      expect.stringContaining("the alias chat leads to"),
    ]);
    await on.admin.delete({ kind: "Alias", name: "chat" });
    await on.admin.delete({ kind: "Profile", name: "other" });
    expect(await modelOf("chat")).toBeUndefined();
  });
});
