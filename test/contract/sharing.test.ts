import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CountingOrigin, countingOrigin } from "../fakes/counting-origin.ts";
import { MIB, seeded, sha256Of } from "../fakes/download-fixture.ts";
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

  test("switched off, everyone goes to the source", async () => {
    site.isOn = false;
    const nodes = await Promise.all(["a", "b"].map((name) => site.node(name)));
    await Promise.all(nodes.map((node) => fetchOn(node)));
    expect(origin.sent).toBe(2 * DATA.length);
  });
});
