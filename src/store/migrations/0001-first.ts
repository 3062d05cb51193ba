import { type Kysely, sql } from "kysely";

/** Profiles, what replicas were made of, nodes, replicas, events. */
export async function first(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("meta")
    .addColumn("key", "text", (column) => column.primaryKey())
    .addColumn("value", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("profiles")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("body", "text", (column) => column.notNull())
    .addColumn("manifest", "text", (column) => column.notNull())
    .addColumn("created_at", "integer", (column) => column.notNull())
    .addColumn("updated_at", "integer", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("specs")
    .addColumn("profile", "text", (column) => column.notNull())
    .addColumn("spec_hash", "text", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("specs_key", ["profile", "spec_hash"])
    .execute();
  await db.schema
    .createTable("nodes")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("replicas")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("profile", "text", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("events")
    // AUTOINCREMENT: a number is never given twice, although old events are removed.
    .addColumn("id", "integer", (column) => column.primaryKey().autoIncrement())
    .addColumn("at", "integer", (column) => column.notNull())
    .addColumn("level", "text", (column) => column.notNull())
    .addColumn("subject_kind", "text", (column) => column.notNull())
    .addColumn("subject", "text", (column) => column.notNull())
    .addColumn("reason", "text", (column) => column.notNull())
    .addColumn("message", "text", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("events_by_subject").on("events").columns(["subject", "id"]).execute();
  await sql`insert into meta (key, value) values ('revision', '0')`.execute(db);
}
