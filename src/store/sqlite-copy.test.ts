import { mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { closeSqlite, copySqlite, examineSqlite } from "./sqlite-copy.ts";
import { openSqliteStore } from "./sqlite.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-copy-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe("a store that is in use", () => {
  test("is copied whole into one file, with what is only in its log yet, and goes on", async () => {
    const [from, to] = [join(folder, "in-use.db"), join(folder, "copy.db")];
    const store = await openSqliteStore({ path: from, newServerId: "s-1" });
    const writer = new DatabaseSync(from);
    writer.exec("insert into nodes (id, body) values ('n1', '{}'), ('n2', '{}')");
    await copySqlite(from, to);
    writer.exec("insert into nodes (id, body) values ('n3', '{}')");
    writer.close();
    await store.close();
    expect(examineSqlite(to)).toMatchObject({ ok: true, value: { serverId: "s-1", nodes: 2, profiles: 0 } });
    expect((await readdir(folder)).filter((name) => name.startsWith("copy"))).toEqual(["copy.db"]);
    expect(examineSqlite(from)).toMatchObject({ ok: true, value: { nodes: 3 } });
  });

  test("is not closed for others, and one that nobody uses is", async () => {
    const path = join(folder, "held.db");
    const store = await openSqliteStore({ path, newServerId: "s" });
    expect(closeSqlite(path)).toBe(false);
    await store.close();
    expect(closeSqlite(path)).toBe(true);
  });
});

describe("what is no store is told in words", () => {
  const cases: readonly { name: string; make: (path: string) => Promise<void>; says: RegExp }[] = [
    { name: "text", make: (path) => writeFile(path, "hello ".repeat(1000)), says: /no store of llmgw: file is not/ },
    { name: "nothing", make: (path) => writeFile(path, ""), says: /an SQLite file, but no store of llmgw/ },
    { name: "no file", make: () => Promise.resolve(), says: /no store of llmgw: unable to open/ },
    {
      name: "somebody else's",
      make: (path) => {
        const other = new DatabaseSync(path);
        other.exec("create table t (x); pragma user_version = 2");
        other.close();
        return Promise.resolve();
      },
      says: /an SQLite file, but no store of llmgw/,
    },
    {
      name: "of a newer llmgw",
      make: async (path) => {
        await (await openSqliteStore({ path, newServerId: "s" })).close();
        const newer = new DatabaseSync(path);
        newer.exec("pragma user_version = 999");
        newer.close();
      },
      says: /written by a newer llmgw \(schema 999; this one knows \d+\)/,
    },
    {
      name: "half of one",
      make: async (path) => {
        await (await openSqliteStore({ path, newServerId: "s" })).close();
        closeSqlite(path);
        await truncate(path, 8192);
      },
      says: /is damaged|no store of llmgw/,
    },
  ];
  test.each(cases)("$name", async ({ name, make, says }) => {
    const path = join(folder, `${name.replaceAll(/\W/g, "-")}.db`);
    await make(path);
    const seen = examineSqlite(path);
    expect(seen.ok ? "a store" : seen.error).toMatch(says);
  });
});
