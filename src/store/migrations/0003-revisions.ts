import type { Kysely } from "kysely";

/** What each profile was before, beside the profile: it is read and written with it. */
export async function revisions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("profiles")
    .addColumn("revisions", "text", (column) => column.notNull().defaultTo("[]"))
    .execute();
}
