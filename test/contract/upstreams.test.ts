import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { writeFileAtomic } from "../../src/platform/files.ts";
import { ownFolder, router, site, SMOL, soon, WAYS } from "./callers.ts";

const CLOUD = "kind: Upstream\nname: cloud\nurl: https://api.example/api/v1\n";
const ALIAS = "kind: Alias\nname: chat\ntargets: [{ profile: smol }]\nfallback: [cloud/large]\n";

async function put(folder: string, name: string, text: string): Promise<string> {
  await writeFileAtomic(join(folder, name), text, 0o600);
  return join(folder, name);
}

const refusalOf = async (call: Promise<unknown>): Promise<ConnectError> =>
  ConnectError.from(await call.then(() => new Error("it was not refused")).catch((error: unknown) => error));

describe.each(Object.entries(WAYS))("upstreams: a control plane %s", (_, start) => {
  test("applied, routed with the key of their file, explained, exported, and deleted after what leads to them", async () => {
    const on = await site(start);
    const folder = await ownFolder("upstream");
    const key = await put(folder, "key", "sk-first\n");
    const manifest = `${CLOUD}api_key: file:${key}\nmodels: { large: org/Large-1, small: small }\nconcurrency: 8\n`;
    const apply = (text: string) => on.admin.apply({ manifest: text });

    const { applied } = await apply([ALIAS, SMOL, manifest].join("---\n"));
    expect(applied.map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`)).toEqual([
      ...["Profile smol created", "Alias chat created", "Upstream cloud created"],
    ]);
    const watching = router(on);
    const routeOf = (name: string) => watching.table?.models.find((model) => model.name === name);
    await expect
      .poll(() => routeOf("large"), soon)
      .toMatchObject({
        ...{ profile: "upstream/cloud", engineModel: "org/Large-1" },
        replicas: [
          {
            ...{ id: "upstream/cloud", host: "api.example", port: 443, apiKey: "sk-first", slots: 8 },
            upstream: { base: "/api/v1", tls: true, ca: "" },
          },
        ],
      });
    expect(routeOf("chat")?.alias).toMatchObject({ targets: [{ model: "smol" }], fallback: ["large"] });
    expect(watching.table?.cluster).toBe((await on.admin.getStatus({})).serverId);

    const { models } = await on.admin.listModels({});
    expect(models.find(({ name }) => name === "small")).toMatchObject({
      ...{ profile: "upstream/cloud", ready: 1, replicas: 1, waitingFor: "" },
    });
    expect(models.find(({ name }) => name === "chat")).toMatchObject({ profile: "smol, upstream/cloud", ready: 1 });
    for (const name of ["cloud", "upstream/cloud"]) {
      expect((await on.admin.explain({ name })).upstream).toMatchObject({
        ...{ name: "cloud", keyFile: key, concurrency: 8, trouble: "", asked: true, inFlight: 0, aliases: ["chat"] },
        models: [
          { name: "large", remote: "org/Large-1" },
          { name: "small", remote: "small" },
        ],
      });
    }
    expect((await refusalOf(on.admin.explain({ name: "clod" }))).rawMessage).toContain('Did you mean "cloud"?');

    const exported = (await on.admin.export({})).manifest;
    expect(exported).toContain(`api_key: file:${key}`);
    expect(exported).not.toContain("sk-first");
    expect(new Set((await apply(exported)).applied.map(({ outcome }) => outcome))).toEqual(new Set(["unchanged"]));
    const changed = { manifest: manifest.replace("concurrency: 8", "concurrency: 9"), fileName: "u.yaml" };
    expect((await on.admin.plan({ files: [changed] })).changes).toMatchObject([
      { kind: "Upstream", outcome: "changed", fields: [{ path: "concurrency", before: "8", after: "9" }] },
    ]);

    const held = await refusalOf(on.admin.delete({ kind: "Upstream", name: "cloud" }));
    expect([held.code, held.rawMessage]).toEqual([
      Code.FailedPrecondition,
      "the alias chat leads to the upstream cloud: change or delete the alias first",
    ]);
    const unknown = await refusalOf(on.admin.delete({ kind: "Upstream", name: "clod" }));
    expect([unknown.code, unknown.rawMessage]).toEqual([Code.NotFound, expect.stringContaining('"cloud"')]);
    await on.admin.delete({ kind: "alias", name: "chat" });
    await on.admin.delete({ kind: "upstream", name: "cloud" });
    await expect.poll(() => watching.table?.models.map(({ name }) => name), soon).toEqual(["default", "smol"]);
    const events = async () => (await on.admin.listEvents({ subject: "cloud" })).events;
    // The order is noted when it has been answered.
    await expect
      .poll(async () => (await events()).map(({ subjectKind, reason }) => `${subjectKind} ${reason}`), soon)
      .toEqual(["upstream UpstreamCreated", "upstream Ordered", "upstream UpstreamDeleted", "upstream Ordered"]);
  });

  test("a key that is replaced is asked with at once; one that cannot be used is told of, and in nobody's way", async () => {
    const on = await site(start);
    const folder = await ownFolder("upstream");
    const key = await put(folder, "key", "sk-first");
    await on.admin.apply({ manifest: `${CLOUD}api_key: file:${key}\nmodels: [large]\n` });
    const watching = router(on);
    const keyInUse = (): string | undefined => watching.table?.models[0]?.replicas[0]?.apiKey;
    await expect.poll(keyInUse, soon).toBe("sk-first");
    await put(folder, "key", "sk-second");
    await expect.poll(keyInUse, soon).toBe("sk-second");
    await put(folder, "key", "two lines\nare none");
    const attention = async () => (await on.admin.getStatus({})).attention.join("\n");
    await expect.poll(attention, soon).toContain("upstream cloud: ");
    expect(await attention()).toContain("holds no key: one line without spaces is looked for; what was read before");
    expect(keyInUse()).toBe("sk-second");
    const files: string[] = [];
    for await (const { name, content } of on.admin.debug({}))
      files.push(`${name}\n${new TextDecoder().decode(content)}`);
    expect(files.join("\n")).toContain(`"keyFile": "${key}"`);
    expect(files.join("\n")).not.toMatch(/sk-second|sk-first/);
  });

  test.each([
    [
      "a key's file that is not there",
      "models: [a]\napi_key: file:/nowhere/key\n",
      "cloud: there is no file /nowhere/key",
    ],
    ["a key in the manifest", "models: [a]\napi_key: sk-in-the-manifest\n", "api_key must name a file as file:/path"],
    [
      "a profile's name",
      "models: [default]\n",
      "cloud: the model name default of the upstream is served by the profile smol",
    ],
    [
      "another upstream's name",
      "models: [x]\n",
      "cloud: the model name x of the upstream is served by the upstream first",
    ],
    [
      "an alias' name",
      "models: [chat]\n",
      "chat: the model name chat of the alias is served by the upstream cloud too",
    ],
    ["no such alias", `models: [a]\n---\n${ALIAS.replace("chat", "c")}`, 'the upstream cloud has no model "large"'],
  ])("refused: %s", async (_name, lines, why) => {
    const on = await site(start);
    const alias = ALIAS.replace("cloud/large", "first");
    const first = CLOUD.replace("cloud", "first");
    await on.admin.apply({ manifest: [SMOL, `${first}models: [x]\n`, alias].join("---\n") });
    const refused = await refusalOf(on.admin.apply({ manifest: CLOUD + lines }));
    expect([refused.code, refused.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining(why)]);
    expect(refused.rawMessage).not.toContain("sk-in-the-manifest");
    const { models } = await on.admin.listModels({});
    expect(models.map(({ name }) => name)).toEqual(["chat", "default", "smol", "x"]);
  });
});

test("an upstream is there again after a restart, with its key; the control plane's own files are nobody's key", async () => {
  const folder = await ownFolder("upstream");
  const dataDir = await ownFolder("data");
  const key = await put(folder, "key", "sk-first");
  const before = await WAYS["over sockets"]({ dataDir });
  await before.admin.apply({ manifest: `${CLOUD}api_key: file:${key}\nmodels: [large]\n` });
  const own = `${CLOUD.replace("cloud", "evil")}api_key: file:${dataDir}/admin-token\nmodels: [evil]\n`;
  const refused = await refusalOf(before.admin.apply({ manifest: own }));
  expect(refused.rawMessage).toContain("admin-token is one of the control plane's own files");
  await before.stop();
  const on = await site(WAYS["over sockets"], { dataDir });
  const watching = router(on);
  await expect
    .poll(() => watching.table?.models.map(({ replicas }) => replicas[0]?.apiKey), soon)
    .toEqual(["sk-first"]);
});
