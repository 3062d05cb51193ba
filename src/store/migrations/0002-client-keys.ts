import type { Kysely } from "kysely";

/** Keys of clients. Of a key itself only its SHA-256 is there. */
export async function clientKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("client_keys")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("sha256", "text", (column) => column.notNull().unique())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
}
