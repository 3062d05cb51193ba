import type { Kysely } from "kysely";

/** Model names that profiles answer in turns. */
export async function aliases(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("aliases")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
}
