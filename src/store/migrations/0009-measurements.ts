import type { Kysely } from "kysely";

/** What engines were found to take. */
export async function measurements(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("measurements")
    .addColumn("key", "text", (column) => column.primaryKey())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
}
