import type { Kysely } from "kysely";

/** Tokens that admit nodes, and tokens of people. Of a token itself only its SHA-256 is there. */
export async function tokens(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("tokens")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("sha256", "text", (column) => column.notNull().unique())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
}
