import { chmod, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, test } from "vitest";
import { typed } from "../fakes/typed.ts";
import { agent, ownFolder, serving, site, SMOL, soon, states } from "./callers.ts";
import { overSockets, type Site } from "./site.ts";

let folder: string;
beforeEach(async () => {
  folder = await ownFolder("store");
});

const ctl = (on: Pick<Site, "url" | "token"> | undefined, ...words: readonly string[]) =>
  typed(["ctl", ...words], { env: { LLMGW_SERVER: on?.url ?? "", LLMGW_TOKEN: on?.token ?? "" } });

/** A control plane with one profile that serves, backed up into a file and stopped. */
async function backedUp() {
  const dataDir = join(folder, "before");
  const on = await overSockets({ dataDir });
  const { agent: one, id } = await serving(on);
  await on.admin.createKey({ name: "laptop" });
  const file = join(folder, "copy.db");
  const done = await ctl(on, "backup", file);
  await one.drop();
  await on.stop();
  return { file, done, id, dataDir };
}

describe("backup", () => {
  test("writes a whole store of mode 0600, says what is in it, and writes nothing over", async () => {
    const on = await site(overSockets);
    await on.admin.apply({ manifest: SMOL });
    const file = join(folder, "copy.db");
    const done = await ctl(on, "backup", file);
    expect(done).toMatchObject({ code: 0, stderr: "Secrets are in it: keep it as you keep the admin token.\n" });
    expect(done.stdout).toMatch(
      /copy\.db \([\d.]+ KiB\) holds 1 profile, 0 nodes, 1 replica, 0 client keys, \d+ events\n$/,
    );
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const again = await ctl(on, "backup", file);
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toContain("take another name, or give --force");
    expect((await ctl(on, "backup", file, "--force", "-o", "json")).code).toBe(0);
    expect(await ctl(on, "backup", join(folder, "no/such/x.db"))).toMatchObject({ code: 2, stdout: "" });
    expect(await ctl(on, "backup", folder)).toMatchObject({ code: 2, stdout: "" });
    expect(await readdir(folder)).toEqual(["copy.db"]);
  });

  test("while profiles are applied is a state that there was", async () => {
    const on = await site(overSockets);
    const over = new AbortController();
    const writing = (async () => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const name = (part: string) =>
          `kind: Profile\nname: p${String(n)}-${part}\nmodel: { source: hf:a/b }\nreplicas: 0\n`;
        await on.admin.apply({ manifest: `${name("a")}---\n${name("b")}` });
      }
    })();
    for (const n of [1, 2, 3, 4, 5]) {
      const file = join(folder, `${String(n)}.db`);
      expect((await ctl(on, "backup", file)).code).toBe(0);
      const copy = new DatabaseSync(file, { readOnly: true });
      const names = copy
        .prepare("select name from profiles")
        .all()
        .map(({ name }) => String(name));
      copy.close();
      // Both documents of a manifest, or none.
      expect(names.length % 2).toBe(0);
    }
    over.abort();
    await writing;
  });
});

describe("restore", () => {
  test("brings everything back into an empty folder: profiles, replicas, keys, and the engines go on", async () => {
    const { file, done, id } = await backedUp();
    expect(done.code).toBe(0);
    const dataDir = join(folder, "new");
    const restored = await ctl(undefined, "restore", file, "--data-dir", dataDir);
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    expect(restored.stdout).toMatch(/server\.db holds 1 profile, 1 node, 1 replica, 1 client key, \d+ events\n$/);
    expect((await stat(join(dataDir, "server.db"))).mode & 0o777).toBe(0o600);
    const on = await site(overSockets, { dataDir });
    expect(await states(on)).toEqual(["ready"]);
    expect((await on.admin.listKeys({})).keys.map(({ name }) => name)).toEqual(["laptop"]);
    const back = agent(on, { node: "n1" });
    await expect.poll(() => back.desired?.replicas.map((replica) => replica.id), soon).toEqual([id]);
  });

  test("is refused while a control plane runs there, which goes on", async () => {
    const { file } = await backedUp();
    const dataDir = join(folder, "busy");
    const on = await site(overSockets, { dataDir });
    for (const force of [[], ["--force"]]) {
      const refused = await ctl(undefined, "restore", file, "--data-dir", dataDir, ...force);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain(`as process ${String(process.pid)}: stop it first`);
    }
    expect((await on.admin.listProfiles({})).profiles).toEqual([]);
  });

  test("over a store with something in it needs --force, and keeps what was there", async () => {
    const { file, dataDir } = await backedUp();
    const refused = await ctl(undefined, "restore", file, "--data-dir", dataDir);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/holds 1 profile, 1 node.*--force puts it aside/);
    // A log that was left behind must not be read into the store that comes.
    await writeFile(join(dataDir, "server.db-wal"), "left behind");
    const forced = await ctl(undefined, "restore", file, "--data-dir", dataDir, "--force", "-o", "json");
    expect(forced.code).toBe(0);
    const { before } = JSON.parse(forced.stdout) as { before: string };
    expect((await stat(before)).size).toBeGreaterThan(0);
    expect((await readdir(dataDir)).filter((name) => name.startsWith("server.db-"))).toEqual([]);
    const on = await site(overSockets, { dataDir });
    expect((await on.admin.listProfiles({})).profiles.map(({ name }) => name)).toEqual(["smol"]);
  });

  test.each([
    { name: "no such file", make: () => Promise.resolve(), code: 2, says: /There is no file/ },
    {
      name: "something else",
      make: (path: string) => writeFile(path, "kind: Profile\n".repeat(2000)),
      code: 1,
      says: /is no store of llmgw/,
    },
    {
      name: "half of a backup",
      make: async (path: string) => {
        const { file } = await backedUp();
        await writeFile(path, await readFile(file));
        await truncate(path, 12_288);
      },
      code: 1,
      says: /is damaged|is no store of llmgw/,
    },
    {
      name: "one whose pages were swapped",
      make: async (path: string) => {
        const { file } = await backedUp();
        const bytes = Buffer.from(await readFile(file));
        bytes.copyWithin(4096, 8192, 12_288);
        await writeFile(path, bytes);
      },
      code: 1,
      says: /is damaged|is no store of llmgw/,
    },
  ])("a bad backup is refused and nothing is touched: $name", async ({ make, code, says }) => {
    const [file, dataDir] = [join(folder, "bad.db"), join(folder, "there")];
    await make(file);
    const refused = await ctl(undefined, "restore", file, "--data-dir", dataDir);
    expect(refused).toMatchObject({ code, stdout: "" });
    expect(refused.stderr).toMatch(says);
    await expect(stat(join(dataDir, "server.db"))).rejects.toThrow();
  });

  test("a store that cannot be read is put aside with --force", async () => {
    const { file } = await backedUp();
    const dataDir = join(folder, "broken");
    const store = join(dataDir, "server.db");
    expect((await ctl(undefined, "restore", file, "--data-dir", dataDir)).code).toBe(0);
    await writeFile(store, "broken ".repeat(1000));
    await chmod(store, 0o600);
    expect((await ctl(undefined, "restore", file, "--data-dir", dataDir)).stderr).toContain("cannot be read");
    expect((await ctl(undefined, "restore", file, "--data-dir", dataDir, "--force")).code).toBe(0);
    const aside = (await readdir(dataDir)).find((name) => name.includes("before")) ?? "";
    expect(await readFile(join(dataDir, aside), "utf8")).toContain("broken");
  });
});
