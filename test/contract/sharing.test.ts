import { mkdir, open, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { request as ask } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRecordBook } from "../../src/agent/weights/folder.ts";
import { withHeld } from "../../src/agent/weights/record.ts";
import { millis, nodeId } from "../../src/core/ids.ts";
import { ok } from "../../src/core/result.ts";
import { type CountingOrigin, countingOrigin } from "../fakes/counting-origin.ts";
import { MIB, seeded, sha256Of } from "../fakes/download-fixture.ts";
import { startHub } from "../fakes/hub-server.ts";
import { type SharingNode, SharingSite } from "../fakes/sharing-site.ts";
import { request, spec } from "../fakes/weights-fixture.ts";

const DATA = seeded(17 * MIB + 123);
const SHA = sha256Of(DATA);

let site: SharingSite;
let origin: CountingOrigin;

beforeEach(async () => {
  site = await SharingSite.start();
  origin = await countingOrigin(DATA);
});
afterEach(async () => {
  await site.stop();
  await origin.close();
});

const pinned = () => spec(origin.url, { sha256: { "model.gguf": SHA } });

async function fetchOn(node: SharingNode, model = pinned()): Promise<Buffer> {
  const got = await node.store.ensure(model, request());
  if (!got.ok) throw new Error(got.error.message);
  return await readFile(got.value.mainPath);
}

/** Where the file is on a node that has it. */
const pathOn = (node: SharingNode): string => {
  const [held] = node.peers.report().held;
  if (held === undefined) throw new Error("it holds nothing");
  return join(node.dir, held.key);
};

/** What a failing disk does: other bytes, the same length. */
async function flipByte(path: string, at: number): Promise<void> {
  await using file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  await file.write(Buffer.of((byte[0] ?? 0) ^ 0xff), 0, 1, at);
}

describe("weights between nodes", () => {
  test("four that want a file at once go to the source once, and each ends with the right bytes", async () => {
    const nodes = await Promise.all(["a", "b", "c", "d"].map((name) => site.node(name)));
    const files = await Promise.all(nodes.map((node) => fetchOn(node)));
    expect(files.map((file) => file.equals(DATA))).toEqual([true, true, true, true]);
    expect(origin.sent).toBeLessThanOrEqual(DATA.length * 1.05);
    expect(nodes.reduce((sum, { peers }) => sum + peers.bytes.peer, 0)).toBe(3 * DATA.length);
    expect(nodes.filter(({ peers }) => peers.bytes.origin > 0)).toHaveLength(1);
  });

  test("a node that comes later takes it from those that have it", async () => {
    const first = await site.node("a");
    await fetchOn(first);
    const before = origin.sent;
    expect((await fetchOn(await site.node("b"))).equals(DATA)).toBe(true);
    expect(origin.sent).toBe(before);
  });

  test("without a hash at the source the word of the one that fetched it counts", async () => {
    const nodes = await Promise.all(["a", "b"].map((name) => site.node(name)));
    const files = await Promise.all(nodes.map((node) => fetchOn(node, spec(origin.url))));
    expect(files.every((file) => file.equals(DATA))).toBe(true);
    expect(origin.sent).toBeLessThanOrEqual(DATA.length * 1.05);
  });

  test("a node that cannot reach the source at all gets the model from one that has it", async () => {
    const data = Buffer.from("GGUF of a kind");
    const hub = await startHub({
      "acme/m": {
        commit: "c0ffee",
        files: { "m.gguf": { data, isLarge: true }, "config.json": { data, isLarge: false } },
      },
    });
    const source = spec("hf:acme/m");
    await fetchOn(await site.node("a", { env: { HF_ENDPOINT: hub.endpoint } }), source);
    await hub.close();
    const b = await site.node("b", { env: { HF_ENDPOINT: hub.endpoint } });
    expect((await fetchOn(b, source)).equals(data)).toBe(true);
    expect((await readdir(b.dir)).filter((name) => name.endsWith(".listing"))).toEqual([]);
    const c = await site.node("c", { env: { HF_ENDPOINT: hub.endpoint } });
    expect(await c.store.ensure(spec("hf:acme/other"), request())).toMatchObject({
      ok: false,
      error: { kind: "network" },
    });
  });

  test("two models that have a file in common fetch it once", async () => {
    const node = await site.node("a");
    let asked = 0;
    const job = {
      ...{ key: "f/model.gguf", source: "hf:acme/m", bytes: 3 },
      request: {
        ...{ target: join(node.dir, "f/model.gguf"), sha256: sha256Of(Buffer.from("abc")) },
        ...{ signal: new AbortController().signal, onProgress: () => undefined },
      },
      fromOrigin: async () => {
        asked += 1;
        await mkdir(join(node.dir, "f"), { recursive: true });
        await writeFile(join(node.dir, "f/model.gguf"), "abc");
        return ok({ bytes: 3, sha256: sha256Of(Buffer.from("abc")) });
      },
      settle: ({ bytes, sha256 }: { readonly bytes: number; readonly sha256: string }) =>
        createRecordBook().change(join(node.dir, "f"), (record) =>
          withHeld(record, { name: "model.gguf", bytes, sha256 }),
        ),
    };
    const both = await Promise.all([node.peers.fetch(job), node.peers.fetch(job)]);
    expect(both.map((one) => one.ok)).toEqual([true, true]);
    expect(asked).toBe(1);
  });

  test("switched off, everyone goes to the source", async () => {
    site.isOn = false;
    const nodes = await Promise.all(["a", "b"].map((name) => site.node(name)));
    await Promise.all(nodes.map((node) => fetchOn(node)));
    expect(origin.sent).toBe(2 * DATA.length);
  });
});

describe("a node whose bytes are wrong", () => {
  test("is found by its first wrong piece and named; another that has the file gives the rest", async () => {
    const suspects: string[] = [];
    const bad = await site.node("bad", { onSuspects: (keys) => suspects.push(...keys) });
    await fetchOn(bad);
    await fetchOn(await site.node("good"));
    for (let at = 0; at < DATA.length; at += 4 * MIB) await flipByte(pathOn(bad), at);
    const before = origin.sent;
    expect((await fetchOn(await site.node("c"))).equals(DATA)).toBe(true);
    expect(origin.sent).toBe(before);
    await expect.poll(() => site.events).toMatchObject([{ subject: "bad", reason: "WrongWeights" }]);
    expect(suspects).toContain(bad.peers.report().held[0]?.key);
  });

  test("that is the only one: the rest comes from the source", async () => {
    const bad = await site.node("bad");
    await fetchOn(bad);
    await flipByte(pathOn(bad), 9 * MIB);
    expect((await fetchOn(await site.node("b"))).equals(DATA)).toBe(true);
    await expect.poll(() => site.events).toMatchObject([{ subject: "bad", reason: "WrongWeights" }]);
    expect(origin.sent).toBeLessThanOrEqual(2 * DATA.length);
  });
});

describe("when the one that goes to the source", () => {
  /** Has the node fetch the file. Resolves when some of it is there. */
  async function begun({ store }: SharingNode): Promise<{ readonly got: ReturnType<typeof store.ensure> }> {
    const { promise: hasSome, resolve } = Promise.withResolvers<undefined>();
    const onProgress = ({ bytesDone }: { readonly bytesDone: number }): void => {
      if (bytesDone > 0) resolve(undefined);
    };
    const got = store.ensure(pinned(), request({ onProgress }));
    await hasSome;
    return { got };
  }

  test("gives up midway, another one goes on with what it has", async () => {
    await origin.close();
    origin = await countingOrigin(DATA, { haltAt: 14 * MIB });
    const [a, b] = [await site.node("a"), await site.node("b")];
    const stop = new AbortController();
    const first = a.store.ensure(pinned(), request({ signal: stop.signal }));
    const second = await begun(b);
    expect(b.peers.bytes).toMatchObject({ origin: 0 });
    stop.abort();
    expect((await first).ok).toBe(false);
    origin.go();
    const got = await second.got;
    expect(got.ok && (await readFile(got.value.mainPath)).equals(DATA)).toBe(true);
    expect(b.peers.bytes.origin).toBeLessThan(DATA.length);
  });

  test("is gone, the others go on with what they have from each other", async () => {
    const [a, b] = [await site.node("a"), await site.node("b")];
    await fetchOn(a);
    const second = await begun(b);
    await a.stop();
    const got = await second.got;
    expect(got.ok && (await readFile(got.value.mainPath)).equals(DATA)).toBe(true);
  });
});

test("a node that no control plane is connected to goes to the source", async () => {
  const [a, b] = [await site.node("a"), await site.node("b")];
  await fetchOn(a);
  b.cut();
  expect((await fetchOn(b)).equals(DATA)).toBe(true);
  expect(origin.sent).toBe(2 * DATA.length);
});

describe("the door", () => {
  interface Said {
    readonly status: number | undefined;
    readonly text: string;
  }

  const call = (port: number, path: string, headers: Readonly<Record<string, string>>, method = "GET"): Promise<Said> =>
    new Promise((resolve, reject) => {
      const asked = ask({ host: "127.0.0.1", port, path, method, headers, agent: false }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => (text += part));
        answer.on("end", () => {
          resolve({ status: answer.statusCode, text });
        });
      });
      asked.on("error", reject).end();
    });

  const enter = (port: number, permission: string, node = "b"): Promise<Said> =>
    call(port, "/weights/visits", { authorization: `Bearer ${permission}`, "x-llmgw-node": node }, "POST");

  const permission = (key: string, name: string) => ({
    permission: name,
    node: nodeId("b"),
    key,
    validFor: millis(60_000),
  });

  async function holder(): Promise<{ readonly node: SharingNode; readonly port: number; readonly key: string }> {
    const node = await site.node("a");
    const small = await countingOrigin(Buffer.from("GGUF and little else"));
    await fetchOn(node, spec(small.url));
    await small.close();
    site.desk.stop();
    const { port, held } = node.peers.report();
    return { node, port, key: held[0]?.key ?? "" };
  }

  test("lets a permission in once, and its node only", async () => {
    const { node, port, key } = await holder();
    node.peers.onPlan({ orders: [], permissions: [permission(key, "one")], suspects: [] });
    expect(await enter(port, "one", "c")).toMatchObject({ status: 403 });
    const first = await enter(port, "one");
    expect(first.status).toBe(200);
    expect(await enter(port, "one")).toMatchObject({
      status: 403,
      text: expect.stringContaining("used already") as string,
    });
    expect(await enter(port, "other")).toMatchObject({ status: 401 });
    const { visit } = JSON.parse(first.text) as { visit: string };
    expect(await call(port, "/weights/notes", { authorization: `Bearer ${visit}` })).toMatchObject({ status: 200 });
    expect(await call(port, "/weights/notes", { authorization: "Bearer one" })).toMatchObject({ status: 401 });
  });

  test.each([
    "../outside.gguf",
    "x/../../outside.gguf",
    "FOLDER/../../outside.gguf",
    "FOLDER/.llmgw.json",
    "FOLDER/link.gguf",
    "/etc/passwd",
    "FOLDER/never-fetched.gguf",
    "",
  ])("gives nothing but what was fetched: %j", async (shape) => {
    const { node, port, key } = await holder();
    const folder = key.split("/")[0] ?? "";
    await symlink("/etc/passwd", join(node.dir, folder, "link.gguf"));
    const asked = shape.replace("FOLDER", folder);
    node.peers.onPlan({ orders: [], permissions: [permission(asked, "one")], suspects: [] });
    expect(await enter(port, "one")).toMatchObject({ status: 404 });
  });

  test.each(["/", "//", "/weights", "/weights/", "/weights/pieces/-1", "/weights/visits/../../x", "/etc/passwd", "/%"])(
    "says no to %j, and goes on",
    async (path) => {
      const { port } = await holder();
      expect((await call(port, path, {})).status).toBeGreaterThanOrEqual(400);
      expect((await call(port, path, { authorization: "Bearer x" }, "DELETE")).status).toBeGreaterThanOrEqual(400);
    },
  );

  test("a file that was replaced by a link is not given, nor told of", async () => {
    const { node, port, key } = await holder();
    const path = join(node.dir, key);
    await rename(path, `${path}.away`);
    await symlink(`${path}.away`, path);
    node.peers.onPlan({ orders: [], permissions: [permission(key, "one")], suspects: [] });
    expect(await enter(port, "one")).toMatchObject({ status: 404 });
    await node.peers.refresh();
    expect(node.peers.report().held.map((held) => held.key)).not.toContain(key);
  });
});
