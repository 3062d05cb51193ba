import { createHash } from "node:crypto";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyGguf } from "../../src/engines/llamacpp/tiny-gguf.ts";
import { type CountingOrigin, countingOrigin } from "../fakes/counting-origin.ts";
import { Cluster } from "./cluster.ts";
import type { Running } from "./process.ts";
import { until } from "./wait.ts";

/** What an engine can load, made large by bytes that it does not read. */
const DATA = Buffer.concat([tinyGguf(), Buffer.alloc(48 * 1024 * 1024, "weights ")]);
const SHA = createHash("sha256").update(DATA).digest("hex");
const FREE_PORT = "127.0.0.1:0";

let cluster: Cluster;
let origin: CountingOrigin;
const nodes = new Map<string, Running>();

beforeAll(async () => {
  origin = await countingOrigin(DATA);
  cluster = await Cluster.start({ agent: [`peer_listen: "${FREE_PORT}"`] });
  await Promise.all(
    ["node-b", "node-c", "node-d"].map(async (id, at) => {
      const ports = `${String(41_100 + at * 50)}-${String(41_149 + at * 50)}`;
      nodes.set(id, await cluster.addNode(id, ports, FREE_PORT));
    }),
  );
});
afterAll(async () => {
  await cluster.stop();
  await origin.close();
});

const profile = (replicas: number) => ({
  name: "shared",
  model: { source: origin.url, sha256: { "model.gguf": SHA } },
  context: 512,
  replicas,
  args: ["-t", "1"],
});

/** The folder of a node's weights; the first one has a name of its own. */
const weightsOf = (node: string): string => join(cluster.dir, node === "node-a" ? "node" : node, "weights");

/** The folder of the model in it, once there is one. */
async function modelOn(node: string): Promise<string | undefined> {
  const [folder] = (await readdir(weightsOf(node)).catch(() => [])).filter((name) => name.startsWith("https--"));
  return folder === undefined ? undefined : join(weightsOf(node), folder);
}

async function fileOn(node: string): Promise<string | undefined> {
  const folder = await modelOn(node);
  if (folder === undefined) return undefined;
  const path = join(folder, "model.gguf");
  const data = await readFile(path).catch(() => undefined);
  return data === undefined || createHash("sha256").update(data).digest("hex") !== SHA ? undefined : path;
}

const ready = (count: number): Promise<boolean> =>
  until(`${String(count)} ready replicas`, async () => {
    const replicas = await cluster.replicas("shared");
    const failed = replicas.find(({ state }) => state === "failed");
    if (failed !== undefined) throw new Error(failed.reason);
    return replicas.filter(({ state }) => state === "ready").length === count;
  });

interface EventView {
  readonly reason: string;
  readonly subject: string;
  readonly message: string;
}

const event = (reason: string, subject: string): Promise<EventView> =>
  until(`the event ${reason} of ${subject}`, async () => {
    const { events = [] } = await cluster.admin<{ events?: readonly EventView[] }>("ListEvents");
    return events.find((one) => one.reason === reason && one.subject === subject);
  });

test("four nodes that start a model at once take one copy from its source", async () => {
  await cluster.apply(profile(4));
  await ready(4);
  expect(origin.sent).toBeLessThanOrEqual(DATA.length * 1.05);
  for (const node of ["node-a", "node-b", "node-c", "node-d"]) expect(await fileOn(node)).toBeDefined();
  const metrics = await (await fetch(`${cluster.adminUrl}/metrics`)).text();
  expect(/llmgw_weights_bytes_total\{source="peer"\} (\d+)/.exec(metrics)?.[1]).toBe(String(3 * DATA.length));
});

test("a node whose disk has gone bad is found by the next that asks, and gets the right bytes itself", async () => {
  const path = (await fileOn("node-b")) ?? "";
  {
    await using file = await open(path, "r+");
    for (let at = 8 * 1024 * 1024; at < DATA.length; at += 4 * 1024 * 1024) await file.write("flipped", at);
  }
  const before = origin.sent;
  await cluster.addNode("node-e", "41300-41349", FREE_PORT);
  await cluster.apply(profile(5));
  await ready(5);
  expect(await fileOn("node-e")).toBeDefined();
  await event("WrongWeights", "node-b");
  await until("the right bytes on node-b", () => fileOn("node-b"));
  expect(origin.sent).toBe(before);
  const { stdout } = await cluster.ctl("events");
  expect(stdout).toContain("wrong bytes");
});

test("a node that is killed while another fetches from it is no loss", async () => {
  const agent = await cluster.addNode("node-f", "41350-41399", FREE_PORT);
  expect(agent.pid).toBeGreaterThan(0);
  await cluster.apply(profile(6));
  await until("a part on node-f", async () => {
    const folder = await modelOn("node-f");
    return folder !== undefined && (await readdir(folder)).some((name) => name.startsWith(".model.gguf"));
  });
  for (const id of ["node-b", "node-c"]) await nodes.get(id)?.end("SIGKILL");
  await until("the file on node-f", () => fileOn("node-f"));
});
