import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import { keepCopy, restoreStore } from "./store-files.ts";

let folder: string;
let copy: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-files-"));
  copy = join(folder, "copy.db");
  await (await openSqliteStore({ path: copy, newServerId: "s-1" })).close();
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const restoring = (store: string, force = false) => ({
  from: copy,
  store,
  dataDir: join(folder, "data"),
  force,
  now: millis(0),
});

test("a store that another process has open is left alone, even with --force", async () => {
  const store = join(folder, "held.db");
  await copyFile(copy, store);
  const holder = new DatabaseSync(store);
  holder.exec("pragma journal_mode = wal");
  holder.prepare("select count(*) from nodes").all();
  await expect(restoreStore(restoring(store, true))).rejects.toThrow(/has the store .*held\.db open: stop it first/);
  holder.close();
});

test("a store with nothing in it needs no force", async () => {
  const store = join(folder, "fresh.db");
  await copyFile(copy, store);
  expect(await restoreStore(restoring(store))).toMatchObject({ before: undefined, contents: { serverId: "s-1" } });
});

test("a copy that broke off gets no name", async () => {
  const file = join(folder, "broken-off.db");
  async function* pieces() {
    yield await Promise.resolve(new Uint8Array(4096));
  }
  const promises = [undefined, { bytes: 4096, sha256: "0".repeat(64) }, { bytes: 1, sha256: "" }];
  for (const promised of promises) {
    await expect(keepCopy(file, { pieces: pieces(), promised: () => promised })).rejects.toThrow(
      "broke off after 4096",
    );
  }
  await expect(restoreStore({ ...restoring(join(folder, "x.db")), from: file })).rejects.toThrow("There is no file");
});

test("what is received and is no store gets no name either", async () => {
  const { createHash } = await import("node:crypto");
  const bytes = new TextEncoder().encode("no store");
  const promised = { bytes: bytes.byteLength, sha256: createHash("sha256").update(bytes).digest("hex") };
  async function* pieces() {
    yield await Promise.resolve(bytes);
  }
  const file = join(folder, "none.db");
  await expect(keepCopy(file, { pieces: pieces(), promised: () => promised })).rejects.toThrow("is no store of llmgw");
  await writeFile(file, "it is still free", { flag: "wx" });
});
