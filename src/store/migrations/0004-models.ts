import type { Kysely } from "kysely";

/** What sources have said of models that no node held at the time. */
export async function models(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("models")
    .addColumn("source", "text", (column) => column.primaryKey())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
}
