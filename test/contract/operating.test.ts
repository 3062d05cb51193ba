import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { bytes } from "../../src/core/ids.ts";
import type { BackupResponse } from "../../src/wire/gen/llmgw/v1/operating_pb.js";
import { examineSqlite } from "../../src/store/sqlite-copy.ts";
import { agent, nodeStates, ownFolder, serving, site, SMOL, soon, states, WAYS } from "./callers.ts";
import { inProcess, overSockets, type Site } from "./site.ts";

const TWO = [
  { fileName: "a.yaml", manifest: SMOL },
  { fileName: "b.yaml", manifest: "kind: Profile\nname: other\nmodel: { source: hf:a/c }\nreplicas: 0\n" },
];

describe.each(Object.entries(WAYS))("operating %s", (_, start) => {
  test("several files are applied as one change, or none of them", async () => {
    const on = await site(start);
    const wrong = [...TWO, { fileName: "c.yaml", manifest: "# a comment\nkind: Profile\nname: smol\nmodle: 1\n" }];
    const refusal = ConnectError.from(await on.admin.apply({ files: wrong }).catch((error: unknown) => error));
    expect(refusal.code).toBe(Code.InvalidArgument);
    expect(refusal.rawMessage.split("\n")).toEqual([
      "c.yaml:2: model is missing",
      "c.yaml:3: Profile smol is in a.yaml too",
      "c.yaml:4: modle is not a known key; did you mean model?",
    ]);
    expect((await on.admin.listProfiles({})).profiles).toEqual([]);
    const { applied } = await on.admin.apply({ files: TWO });
    expect(applied.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual(["smol created", "other created"]);
    const told = (await on.admin.listEvents({})).events.filter(({ reason }) => reason === "ProfileCreated");
    expect(new Set(told.map(({ at }) => at?.nanos)).size).toBe(1);
  });

  test("engines: every build of every node, and which replicas run it", async () => {
    const on = await site(start);
    const build = { name: "llama.cpp", version: "b1", origin: "installed", path: "/opt/l", devices: ["CPU"] } as const;
    const older = { ...build, version: "b0", origin: "path", path: "/usr/bin/l" } as const;
    agent(on, { node: "n2", inventory: { engines: [build] } });
    await expect.poll(() => nodeStates(on), soon).toEqual({ n2: "ready" });
    await on.admin.cordon({ node: "n2", cordoned: true });
    const { id } = await serving(on, "n1");
    expect((await on.admin.listEngines({})).engines).toMatchObject([{ node: "n2", build, replicas: [] }]);
    const again = agent(on, { node: "n3", inventory: { engines: [build, older] } });
    await expect.poll(() => again.desired, soon).toBeDefined();
    const { engines } = await on.admin.listEngines({ node: "n3" });
    expect(engines.map((one) => `${one.build?.version ?? ""} ${one.build?.origin ?? ""}`)).toEqual([
      "b1 installed",
      "b0 path",
    ]);
    expect(id).not.toBe("");
  });

  test("weights: what nodes hold and for whom, and what is on its way", async () => {
    const on = await site(start);
    await on.admin.apply({ manifest: SMOL });
    const held = { source: "file:/old.gguf", path: "/w/old.gguf", bytes: bytes(7) };
    const one = agent(on, { node: "n1", inventory: { weights: [held] } });
    await expect.poll(() => one.desired?.replicas.length, soon).toBe(1);
    const progress = { what: "fetching m.gguf", bytesDone: bytes(40), bytesTotal: bytes(100), bytesPerSecond: 10 };
    one.observe(() => ({ kind: "preparing", progress }));
    await expect.poll(() => states(on), soon).toEqual(["preparing"]);
    expect((await on.admin.listWeights({})).weights).toMatchObject([
      { node: "n1", source: "file:/old.gguf", state: "held", bytes: 7, profiles: [] },
      { node: "n1", source: "hf:a/b", state: "fetching", bytes: 40, profiles: ["smol"], progress: { bytesTotal: 100 } },
    ]);
    expect((await on.admin.listWeights({ node: "n2" })).weights).toEqual([]);
  });

  test("export says what no manifest can hold", async () => {
    const on = await site(start);
    await serving(on);
    await on.admin.cordon({ node: "n1", cordoned: true });
    const { manifest, notes } = await on.admin.export({});
    expect(manifest).toMatch(/^kind: Profile\nname: smol\n/);
    expect(notes).toEqual(["node n1 is cordoned: llmgw ctl cordon n1"]);
  });

  test("a replica on one node has the rank 0 and no other", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    const read = async (rank: number): Promise<unknown> => {
      try {
        for await (const part of on.admin.logs({ replica: id, rank })) return part.lines;
        return [];
      } catch (error) {
        return ConnectError.from(error).rawMessage;
      }
    };
    expect(await read(1)).toBe(`replica ${id} has no rank 1: it is on one node: its only rank is 0`);
    const reading = read(0);
    const asked = () => one.received.flatMap(({ body }) => (body.case === "logRequest" ? [body.value.requestId] : []));
    await expect.poll(() => asked().length, soon).toBe(1);
    one.say({ case: "logChunk", value: { requestId: asked()[0] ?? 0, lines: ["loaded"], done: true } });
    expect(await reading).toEqual(["loaded"]);
  });

  test("values under names of secrets are shown by nothing but export", async () => {
    const on = await site(start);
    const manifest = (token: string) =>
      `${SMOL}env: { HF_TOKEN: ${token}, LEVEL: INFO }\nargs: [--api-key, ${token}, --threads, "2"]\n`;
    const [first, second] = ["0123456789abcdef", "fedcba9876543210"];
    await on.admin.apply({ manifest: manifest(first) });
    const { changes } = await on.admin.plan({ files: [{ manifest: manifest(second) }] });
    expect(changes[0]?.fields.map(({ path, before, after }) => [path, before, after])).toEqual([
      ["args", '["--api-key","[hidden]","--threads","2"]', '["--api-key","[hidden]","--threads","2"]'],
      ["env.HF_TOKEN", '"[hidden]"', '"[hidden]"'],
    ]);
    await on.admin.apply({ manifest: manifest(second) });
    const parts = [
      await on.admin.listProfiles({}),
      (await on.admin.getRollout({ profile: "smol" })).revisions,
      (await on.admin.listReplicas({})).replicas,
    ];
    const shown = inspect(parts, { depth: null, maxStringLength: null, maxArrayLength: null });
    expect(shown).toContain("[hidden]");
    expect(shown).toContain("LEVEL");
    for (const secret of [first, second]) expect(shown).not.toContain(secret);
    expect((await on.admin.export({})).manifest).toContain(second);
  });
});

async function received(
  on: Site,
): Promise<{ bytes: Uint8Array; end: Extract<BackupResponse["part"], { case: "end" }> }> {
  const chunks: Uint8Array[] = [];
  for await (const { part } of on.admin.backup({})) {
    if (part.case === "chunk") chunks.push(part.value);
    if (part.case === "end") return { bytes: Buffer.concat(chunks), end: part };
  }
  throw new Error("the copy has no end");
}

describe("a backup", () => {
  test("is the whole store while it is in use, and leaves nothing behind", async () => {
    const dataDir = await ownFolder("backup");
    const on = await site(overSockets, { dataDir });
    await serving(on);
    const { bytes: content, end } = await received(on);
    expect(end.value.bytes).toBe(content.byteLength);
    const file = join(dataDir, "received.db");
    await writeFile(file, content);
    await chmod(file, 0o600);
    expect(examineSqlite(file)).toMatchObject({ ok: true, value: { profiles: 1, nodes: 1, replicas: 1 } });
    expect((await readdir(dataDir)).filter((name) => name.startsWith(".llmgw"))).toEqual([]);
    expect((await stat(join(dataDir, "server.db"))).mode & 0o777).toBe(0o600);
    expect((await readFile(file)).subarray(0, 15).toString()).toBe("SQLite format 3");
  });

  test("of a control plane that keeps nothing on a disk is refused", async () => {
    const on = await site(inProcess);
    expect(ConnectError.from(await received(on).catch((error: unknown) => error)).code).toBe(Code.Unimplemented);
  });
});
