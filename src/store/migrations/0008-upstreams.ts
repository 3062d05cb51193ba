import type { Kysely } from "kysely";

/** Endpoints that run elsewhere. */
export async function upstreams(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("upstreams")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
}
