import { chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Authority } from "../../../test/fakes/certificates.ts";
import type { NewEvent } from "../../core/event.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { Upstream } from "../../core/upstream.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import { UpstreamSecrets } from "./secrets.ts";

let folder: string;
let now: Millis;
let secrets: UpstreamSecrets;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-secrets-"));
  await mkdir(join(folder, "own"));
  now = millis(0);
  const clock = { now: () => now, monotonic: () => now, after: () => () => undefined };
  secrets = new UpstreamSecrets({ clock, ownFolder: join(folder, "own") });
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const at = (name: string): string => join(folder, name);
const upstream = (more: Partial<Upstream>): Upstream => ({ name: "cloud", url: "https://x", models: [], ...more });

async function put(name: string, text: string): Promise<string> {
  await writeFileAtomic(at(name), text, 0o600);
  return at(name);
}

/** What is told after so many looks, each when it is time for one. */
async function looks(count: number, of: Upstream): Promise<readonly NewEvent[]> {
  const told: NewEvent[] = [];
  for (let look = 0; look < count; look++) {
    now = millis(now + 1_000);
    await secrets.follow([of], (events) => told.push(...events));
  }
  return told;
}

describe("files as they are applied", () => {
  test("an upstream without any has nothing to be read", async () => {
    expect(await secrets.look([upstream({})])).toEqual([]);
    expect(secrets.of(upstream({}))).toEqual({ ok: true, value: { key: "", ca: "" } });
  });

  test("a key without the line's end, and authorities without what stands beside them", async () => {
    const { ca } = new Authority();
    const of = upstream({ keyFile: await put("key", "sk-1 \n"), caFile: await put("ca", `# ours\n${ca}`) });
    expect(secrets.of(of)).toMatchObject({
      ok: false,
      error: expect.stringContaining("has not been read yet") as string,
    });
    expect(await secrets.look([of])).toEqual([]);
    expect(secrets.of(of)).toEqual({ ok: true, value: { key: "sk-1", ca } });
    expect(secrets.keys()).toEqual(["sk-1"]);
  });

  test.each([
    ["that is not there", undefined, "there is no file"],
    ["that is empty", "\n", "holds no key: one line without spaces"],
    ["of several lines", "a:b:c\nd:e:f\n", "holds no key: one line without spaces"],
    ["that would end its header line", "sk\r\nx-evil: 1", "holds no key: one line without spaces"],
  ])("a key %s", async (_, text, why) => {
    const keyFile = text === undefined ? at("none") : await put("key", text);
    expect(await secrets.look([upstream({ keyFile })])).toEqual([expect.stringContaining(`cloud: `)]);
    expect(secrets.troubleOf(upstream({ keyFile }))).toContain(why);
  });

  test("a key that others may read", async () => {
    const keyFile = await put("key", "sk-1");
    await chmod(keyFile, 0o644);
    expect(await secrets.look([upstream({ keyFile })])).toEqual([expect.stringContaining("chmod 600")]);
  });

  test("authorities that are none", async () => {
    const caFile = await put("ca", "sk-1");
    expect(await secrets.look([upstream({ caFile })])).toEqual([expect.stringContaining("is no PEM text")]);
  });

  test("what is the control plane's own is sent nowhere, also by another name", async () => {
    await put("own/admin-token", "llmgw-admin");
    await symlink(at("own/admin-token"), at("harmless"));
    for (const keyFile of [at("own/admin-token"), at("harmless"), `${folder}/x/../own/admin-token`]) {
      await mkdir(at("x"), { recursive: true });
      const problems = await secrets.look([upstream({ keyFile })]);
      expect(problems).toEqual([expect.stringContaining("is one of the control plane's own files")]);
      expect(secrets.of(upstream({ keyFile })).ok).toBe(false);
    }
  });
});

describe("a file that is replaced", () => {
  test("is in force once it has stayed the same for a moment, and told of once", async () => {
    const of = upstream({ keyFile: await put("key", "sk-1") });
    await secrets.look([of]);
    expect(await looks(2, of)).toEqual([]);
    await put("key", "sk-2");
    expect(await looks(1, of)).toEqual([]);
    expect(secrets.of(of)).toMatchObject({ value: { key: "sk-1" } });
    expect(await looks(2, of)).toMatchObject([{ reason: "UpstreamFileRead", subject: "cloud", level: "info" }]);
    expect(secrets.of(of)).toMatchObject({ value: { key: "sk-2" } });
  });

  test("by something unusable, or taken away, leaves what was good in force", async () => {
    const of = upstream({ keyFile: await put("key", "sk-1") });
    await secrets.look([of]);
    await rm(at("key"));
    const told = await looks(4, of);
    expect(told).toMatchObject([{ reason: "UpstreamFileUnusable", level: "warning" }]);
    expect(told[0]?.message).toContain("what was read before stays in force");
    expect(secrets.of(of)).toMatchObject({ value: { key: "sk-1" } });
    expect(secrets.troubleOf(of)).toContain("there is no file");
    await put("key", "sk-1");
    await looks(3, of);
    expect(secrets.troubleOf(of)).toBeUndefined();
  });

  test("is looked at once a second, and forgotten when nobody names it", async () => {
    const of = upstream({ keyFile: await put("key", "sk-1") });
    await secrets.look([of]);
    await looks(1, of);
    await put("key", "sk-2");
    for (let soon = 0; soon < 5; soon++) await secrets.follow([of], () => undefined);
    expect(secrets.of(of)).toMatchObject({ value: { key: "sk-1" } });
    await looks(1, upstream({ name: "other" }));
    expect(secrets.keys()).toHaveLength(1);
    await looks(1, upstream({ name: "other" }));
    expect(secrets.keys()).toEqual([]);
  });
});
