import { backup, DatabaseSync } from "node:sqlite";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";
import { KNOWN_SCHEMA } from "./migrate.ts";

/** Every page in one step: in several, a store that is written to meanwhile would begin again and again. */
const ALL_PAGES = 2 ** 30;

/**
 * Copies a store as it is at one moment, while others read and write it; the writer is not stopped. The copy is one file
 * without a log beside it.
 *
 * @param to a file that nobody else uses; an empty one keeps its mode
 */
export async function copySqlite(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    await backup(source, to, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(to);
  try {
    copy.exec("pragma journal_mode = delete");
  } finally {
    copy.close();
  }
}

/** What a store holds, for people. */
export interface StoreContents {
  readonly serverId: string;
  readonly revision: number;
  readonly profiles: number;
  readonly nodes: number;
  readonly replicas: number;
  readonly keys: number;
  readonly events: number;
}

/** Reads a whole file as a store and proves that it is one. The error is a sentence without its full stop. */
export function examineSqlite(path: string): Result<StoreContents, string> {
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      return examine(database, path);
    } finally {
      database.close();
    }
  } catch (error) {
    return err(`${path} is no store of llmgw: ${messageOf(error)}`);
  }
}

function examine(database: DatabaseSync, path: string): Result<StoreContents, string> {
  const [damage] = texts(database, "pragma integrity_check");
  if (damage !== "ok") return err(`${path} is damaged: ${damage ?? "nothing can be read"}`);
  const schema = Number(texts(database, "pragma user_version")[0]);
  if (schema > KNOWN_SCHEMA) {
    const versions = `schema ${String(schema)}; this one knows ${String(KNOWN_SCHEMA)}`;
    return err(`${path} was written by a newer llmgw (${versions}): take that version`);
  }
  const tables = new Set(texts(database, "select name from sqlite_master where type = 'table'"));
  if (schema < 1 || !tables.has("meta")) return err(`${path} is an SQLite file, but no store of llmgw`);
  const count = (table: string): number =>
    tables.has(table) ? Number(texts(database, `select count(*) from ${table}`)[0]) : 0;
  const meta = (key: string): string => texts(database, "select value from meta where key = ?", key)[0] ?? "";
  return ok({
    serverId: meta("server_id"),
    revision: Number(meta("revision")),
    profiles: count("profiles"),
    nodes: count("nodes"),
    replicas: count("replicas"),
    keys: count("client_keys"),
    events: count("events"),
  });
}

/** The first column of each row. */
const texts = (database: DatabaseSync, sql: string, ...parameters: readonly string[]): readonly string[] =>
  database
    .prepare(sql)
    .all(...parameters)
    .map((row) => String(Object.values(row)[0]));

/** Whether nobody has the store open: then what is written ahead of it is brought home, and it is one file again. */
export function closeSqlite(path: string): boolean {
  const database = new DatabaseSync(path);
  try {
    database.exec("pragma busy_timeout = 0");
    return texts(database, "pragma journal_mode = delete")[0] === "delete";
  } catch {
    return false;
  } finally {
    database.close();
  }
}
