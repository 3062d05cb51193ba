import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { storeSuite } from "./store-suite.ts";

let folder = "";
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-store-"));
});
afterAll(() => rm(folder, { recursive: true }));

const newFile = (): string => join(folder, `${String(files++)}.db`);
const newServerId = (): string => `server-${String(files++)}`;

storeSuite(
  "SQLite on disk",
  (keptEvents) => {
    const path = newFile();
    return Promise.resolve({ open: () => openSqliteStore({ path, newServerId: newServerId(), keptEvents }) });
  },
  true,
);

storeSuite(
  "SQLite in memory",
  (keptEvents) =>
    Promise.resolve({ open: () => openSqliteStore({ path: ":memory:", newServerId: newServerId(), keptEvents }) }),
  false,
);

test("a database of a newer llmgw is refused in words, and left alone", async () => {
  const path = newFile();
  await (await openSqliteStore({ path, newServerId: "s" })).close();
  const database = new DatabaseSync(path);
  database.exec("pragma user_version = 99");
  database.close();
  await expect(openSqliteStore({ path, newServerId: "s" })).rejects.toThrow(/newer llmgw \(schema 99; this one knows/);
});

test("killed at any moment, what was acknowledged is there and nothing by half", async () => {
  const path = newFile();
  const writer = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", join(import.meta.dirname, "../fakes/store-writer.ts"), path],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let acknowledged = 0;
  let rest = "";
  writer.stdout.setEncoding("utf8");
  writer.stdout.on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) acknowledged = Number(line);
    if (acknowledged >= 20) writer.kill("SIGKILL");
  });
  await once(writer, "close");
  expect(acknowledged).toBeGreaterThanOrEqual(20);
  const store = await openSqliteStore({ path, newServerId: "s" });
  const { revision, nodes, profiles } = await store.load();
  expect(revision).toBeGreaterThanOrEqual(acknowledged);
  // Each commit of the writer puts one node and one event.
  expect(nodes).toHaveLength(revision);
  expect(await store.events({ after: 0, limit: 10_000, subject: undefined })).toHaveLength(revision);
  expect(profiles).toEqual([]);
  await store.close();
});
