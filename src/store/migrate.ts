import { type Kysely, sql } from "kysely";
import { LlmgwError } from "../core/errors.ts";
import { first } from "./migrations/0001-first.ts";
import { clientKeys } from "./migrations/0002-client-keys.ts";
import { revisions } from "./migrations/0003-revisions.ts";
import { models } from "./migrations/0004-models.ts";
import { tokens } from "./migrations/0005-tokens.ts";
import { usage } from "./migrations/0006-usage.ts";
import { aliases } from "./migrations/0007-aliases.ts";
import { upstreams } from "./migrations/0008-upstreams.ts";
import { measurements } from "./migrations/0009-measurements.ts";

/** In order, never altered once released: the number of a migration is its place here. Forward only. */
const MIGRATIONS: readonly ((db: Kysely<unknown>) => Promise<void>)[] = [
  first,
  clientKeys,
  revisions,
  models,
  tokens,
  usage,
  aliases,
  upstreams,
  measurements,
];

/** What a store of this program has as its user_version. */
export const KNOWN_SCHEMA = MIGRATIONS.length;

/**
 * Brings the database to the schema that this program knows, each step in a transaction of its own. A database of a newer
 * program is refused: writing to it could lose what only the newer one understands.
 */
export async function migrate(db: Kysely<unknown>, where: string): Promise<void> {
  const found = await schemaVersion(db);
  if (found > MIGRATIONS.length) {
    throw new LlmgwError(
      "FAILED",
      `${where} was written by a newer llmgw (schema ${String(found)}; this one knows ${String(MIGRATIONS.length)}). ` +
        "Start the newer version, or restore a backup made before the upgrade.",
    );
  }
  for (const [index, step] of MIGRATIONS.entries()) {
    if (index < found) continue;
    await db.transaction().execute(async (transaction) => {
      await step(transaction);
      await sql`pragma user_version = ${sql.lit(index + 1)}`.execute(transaction);
    });
  }
}

async function schemaVersion(db: Kysely<unknown>): Promise<number> {
  const { rows } = await sql<{ readonly user_version: number }>`pragma user_version`.execute(db);
  return rows[0]?.user_version ?? 0;
}
