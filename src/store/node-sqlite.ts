import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { SqliteDatabase, SqliteStatement } from "kysely";

/** Another process that holds the database (a backup, a curious operator) is waited for this long. */
const BUSY_TIMEOUT_MS = 5_000;
/** Distinct statement texts that stay prepared. The store has a few dozen. */
const KEPT_STATEMENTS = 200;

/**
 * Node's own SQLite in the shape that Kysely's dialect takes. WAL: readers do not stop the writer. synchronous=FULL: what
 * was acknowledged to an operator survives a power cut, at a sync a commit; the loop commits a few times a second at most.
 *
 * @param path a file, or ":memory:"
 */
export function openNodeSqlite(path: string): SqliteDatabase {
  const database = new DatabaseSync(path);
  database.exec(`pragma busy_timeout = ${String(BUSY_TIMEOUT_MS)}`);
  database.exec("pragma journal_mode = wal");
  database.exec("pragma synchronous = full");
  const statements = new Map<string, SqliteStatement>();
  return {
    close: () => {
      database.close();
    },
    prepare(text) {
      const kept = statements.get(text);
      if (kept !== undefined) return kept;
      if (statements.size >= KEPT_STATEMENTS) statements.clear();
      const statement = adapt(database.prepare(text));
      statements.set(text, statement);
      return statement;
    },
  };
}

function adapt(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  };
}
