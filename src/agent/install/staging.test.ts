import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BuildMarker, commitStaging, listInstalled, openStaging, sweepStaging } from "./staging.ts";

const marker: BuildMarker = {
  version: "b2",
  asked: "b2",
  source: "github",
  binary: "x/llama-server",
  hadDriver: false,
};
let base = "";

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "llmgw-staging-"));
});
afterEach(async () => {
  await rm(base, { recursive: true });
});

async function install(change: Partial<BuildMarker> = {}): Promise<string> {
  const staging = await openStaging(base);
  await writeFile(join(staging, "content"), change.version ?? marker.version);
  return (await commitStaging(staging, `${change.version ?? marker.version}-cpu`, { ...marker, ...change })).folder;
}

test("a build is there when it is whole, the newest version first", async () => {
  await openStaging(base);
  await install();
  await install({ version: "b10" });
  expect((await listInstalled(base)).map(({ version, path }) => [version, path])).toEqual([
    ["b10", join(base, "b10-cpu/x/llama-server")],
    ["b2", join(base, "b2-cpu/x/llama-server")],
  ]);
});

test("B73 a build that is there is never replaced: the second one gets a number", async () => {
  const first = await install();
  expect(await install({ asked: "b3" })).toBe(join(base, "b2-cpu.2"));
  expect(await readFile(join(first, "content"), "utf8")).toBe("b2");
});

test.each([
  { name: "none", text: undefined },
  { name: "half of one", text: '{"version":"b2"' },
  { name: "one without an executable", text: '{"version":"b2","asked":"","source":"","hadDriver":true}' },
  { name: "one of something else", text: "[]" },
  { name: "null", text: "null" },
])("B73 a folder is no build with this for a marker: $name", async ({ text }) => {
  await mkdir(join(base, "b2-cpu"));
  if (text !== undefined) await writeFile(join(base, "b2-cpu/llmgw-build.json"), text);
  expect(await listInstalled(base)).toEqual([]);
});

test("what dead processes left is swept, and what living ones do is not", async () => {
  const mine = await openStaging(base);
  const [, boot, namespace] = /\.staging\.([^.]+)\.([^.]+)\./.exec(mine) ?? [];
  const dead = `.staging.${boot ?? ""}.${namespace ?? ""}.${String(process.pid)}.1.0badf00d`;
  const foreign = `.staging.${boot ?? ""}.1.${String(process.pid)}.1.0badf00d`;
  for (const name of [dead, foreign, ".staging.nonsense", "b1-cpu"]) await mkdir(join(base, name));
  await sweepStaging(base);
  const left = (await readdir(base)).map((name) => join(base, name));
  expect(left.toSorted()).toEqual([mine, join(base, foreign), join(base, "b1-cpu")].toSorted());
});
