import type { Kysely } from "kysely";

/** Who used what, by key, model and day; the last requests as they came; and which router process has said how much of it. */
export async function usage(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("usage_days")
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("day", "integer", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("key_name", "text", (column) => column.notNull())
    .addColumn("requests", "bigint", (column) => column.notNull())
    .addColumn("prompt_tokens", "bigint", (column) => column.notNull())
    .addColumn("cached_tokens", "bigint", (column) => column.notNull())
    .addColumn("completion_tokens", "bigint", (column) => column.notNull())
    .addColumn("estimated", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("usage_days_key", ["key_id", "day", "model"])
    .execute();
  await db.schema.createIndex("usage_days_by_day").on("usage_days").columns(["day"]).execute();
  await db.schema
    .createTable("usage_sources")
    .addColumn("instance", "text", (column) => column.primaryKey())
    .addColumn("last", "bigint", (column) => column.notNull())
    .addColumn("heard_at", "bigint", (column) => column.notNull())
    .addColumn("ended", "integer", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("usage_recent")
    .addColumn("instance", "text", (column) => column.notNull())
    .addColumn("first", "bigint", (column) => column.notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("records", "integer", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("usage_recent_key", ["instance", "first"])
    .execute();
  await db.schema.createIndex("usage_recent_by_at").on("usage_recent").columns(["at"]).execute();
}
