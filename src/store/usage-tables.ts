import {
  type ExpressionBuilder,
  type Kysely,
  type Selectable,
  type SelectQueryBuilder,
  sql,
  type Transaction,
} from "kysely";
import type { Millis } from "../core/ids.ts";
import { dayOf, firstDayOf, type KeyTotal, monthOfDay, type UsageRecord } from "../core/usage.ts";
import type { Tables } from "./schema.ts";
import { dayRows } from "./usage-sums.ts";
import type { Added, KeptRequest, UsageBatch, UsageGroup, UsageQuery, UsageStore, UsageSum } from "./usage.ts";

/** Requests that can still be asked about: enough for a look at what has just gone wrong, and some MB. */
const KEPT_REQUESTS = 10_000;
const KEPT_FOR_MS = 24 * 3_600_000;
/** A process that has been silent for so long sends nothing that it had sent before. */
const SOURCES_FOR_MS = 90 * 86_400_000;
/** Batches between two looks at how many requests are kept. */
const TRIM_EVERY = 32;

type Days = Selectable<Tables["usage_days"]>;
const SUMMED = ["requests", "prompt_tokens", "cached_tokens", "completion_tokens", "estimated"] as const;

/** Usage in tables that every database understands alike. */
export class UsageTables implements UsageStore {
  readonly #db: Kysely<Tables>;
  #batches = 0;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  async add({ instance, records }: UsageBatch, now: Millis): Promise<Added> {
    const added = await this.#db.transaction().execute(async (db) => {
      const counted = await lastOf(db, instance, now);
      const fresh = records.filter(({ number }) => number > counted);
      const through = fresh.at(-1)?.number ?? counted;
      if (fresh.length > 0) await count(db, { instance, records: fresh }, now);
      return { through, totals: await totalsOf(db, totalsAsked(records)) };
    });
    this.#batches += 1;
    if (this.#batches % TRIM_EVERY === 0) await this.#trim();
    return added;
  }

  async sums({ by, since, until, keyIds, model }: UsageQuery): Promise<readonly UsageSum[]> {
    let query = this.#db.selectFrom("usage_days").select((row) => SUMMED.map((name) => row.fn.sum(name).as(name)));
    if (since !== undefined) query = query.where("day", ">=", since);
    if (until !== undefined) query = query.where("day", "<=", until);
    if (keyIds !== undefined) query = query.where("key_id", "in", keyIds.length === 0 ? [""] : keyIds);
    if (model !== undefined) query = query.where("model", "=", model);
    for (const group of by) query = grouped(query, group);
    const rows = await query.execute();
    return rows.map((row) => sumFromRow(row as Partial<Days>)).filter(({ requests }) => requests > 0);
  }

  async totals(day: number): Promise<readonly KeyTotal[]> {
    const rows = await spentAround(this.#db, day).select("key_id").groupBy("key_id").execute();
    return rows.map((row) => totalFromRow({ keyId: row.key_id, day }, row));
  }

  async requests(requestId: string): Promise<readonly KeptRequest[]> {
    const text = JSON.stringify(requestId).replaceAll(/[\\%_]/g, String.raw`\$&`);
    const rows = await this.#db
      .selectFrom("usage_recent")
      .select(["instance", "body"])
      .where(sql<boolean>`body like ${`%${text}%`} escape '\\'`)
      .orderBy("at", "desc")
      .orderBy("first", "desc")
      .limit(100)
      .execute();
    return rows.flatMap(({ instance, body }) =>
      (JSON.parse(body) as readonly UsageRecord[])
        .filter((record) => record.requestId === requestId)
        .toReversed()
        .map((record) => ({ instance, record })),
    );
  }

  async noteRouter(instance: string, state: "here" | "ended", now: Millis): Promise<void> {
    const ended = state === "ended" ? 1 : 0;
    await this.#db
      .insertInto("usage_sources")
      .values({ instance, last: 0, heard_at: now, ended })
      .onConflict((conflict) => conflict.column("instance").doUpdateSet({ heard_at: now, ended }))
      .execute();
  }

  async routers(since: Millis): Promise<readonly string[]> {
    const rows = await this.#db
      .selectFrom("usage_sources")
      .select("instance")
      .where("ended", "=", 0)
      .where("heard_at", ">=", since)
      .execute();
    return rows.map(({ instance }) => instance);
  }

  async prune(beforeDay: number, now: Millis): Promise<void> {
    await this.#db.deleteFrom("usage_days").where("day", "<", beforeDay).execute();
    await this.#db
      .deleteFrom("usage_recent")
      .where("at", "<", now - KEPT_FOR_MS)
      .execute();
    await this.#db
      .deleteFrom("usage_sources")
      .where("heard_at", "<", now - SOURCES_FOR_MS)
      .execute();
  }

  async #trim(): Promise<void> {
    const rows = await this.#db.selectFrom("usage_recent").select(["at", "records"]).orderBy("at", "desc").execute();
    let kept = 0;
    for (const { at, records } of rows) {
      kept += records;
      if (kept < KEPT_REQUESTS) continue;
      await this.#db.deleteFrom("usage_recent").where("at", "<", Number(at)).execute();
      return;
    }
  }
}

/** The write comes first: it takes the lock under which the rest is done. */
async function lastOf(db: Transaction<Tables>, instance: string, now: Millis): Promise<number> {
  const { last } = await db
    .insertInto("usage_sources")
    .values({ instance, last: 0, heard_at: now, ended: 0 })
    .onConflict((conflict) => conflict.column("instance").doUpdateSet({ heard_at: now }))
    .returning("last")
    .executeTakeFirstOrThrow();
  return Number(last);
}

async function count(db: Transaction<Tables>, { instance, records }: UsageBatch, now: Millis): Promise<void> {
  for (const row of dayRows(records)) {
    await db
      .insertInto("usage_days")
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(["key_id", "day", "model"]).doUpdateSet((old) => ({
          key_name: row.key_name,
          requests: sql<number>`${old.ref("usage_days.requests")} + ${row.requests}`,
          prompt_tokens: sql<number>`${old.ref("usage_days.prompt_tokens")} + ${row.prompt_tokens}`,
          cached_tokens: sql<number>`${old.ref("usage_days.cached_tokens")} + ${row.cached_tokens}`,
          completion_tokens: sql<number>`${old.ref("usage_days.completion_tokens")} + ${row.completion_tokens}`,
          estimated: sql<number>`${old.ref("usage_days.estimated")} + ${row.estimated}`,
        })),
      )
      .execute();
  }
  const [first, last] = [records[0]?.number ?? 0, records.at(-1)?.number ?? 0];
  const recent = { instance, first, at: now, records: records.length, body: JSON.stringify(records) };
  await db.insertInto("usage_recent").values(recent).execute();
  await db.updateTable("usage_sources").set({ last }).where("instance", "=", instance).execute();
}

/** The latest day of each key in a batch. */
function totalsAsked(records: readonly UsageRecord[]): ReadonlyMap<string, number> {
  const days = new Map<string, number>();
  for (const { keyId, endedAt } of records) days.set(keyId, Math.max(days.get(keyId) ?? 0, dayOf(endedAt)));
  days.delete("");
  return days;
}

async function totalsOf(db: Transaction<Tables>, asked: ReadonlyMap<string, number>): Promise<readonly KeyTotal[]> {
  const totals: KeyTotal[] = [];
  for (const [keyId, day] of asked) {
    const row = await spentAround(db, day).where("key_id", "=", keyId).executeTakeFirstOrThrow();
    totals.push(totalFromRow({ keyId, day }, row));
  }
  return totals;
}

type Row = ExpressionBuilder<Tables, "usage_days">;
const spent = (row: Row) => sql<number>`${row.ref("prompt_tokens")} + ${row.ref("completion_tokens")}`;

type Total = number | string | null;

/** Tokens of a day, and of its whole month. */
function spentAround(db: Kysely<Tables>, day: number) {
  const month = monthOfDay(day);
  return db
    .selectFrom("usage_days")
    .select((row) => [
      sql<Total>`sum(${spent(row)})`.as("month_tokens"),
      sql<Total>`sum(case when day = ${day} then ${spent(row)} else 0 end)`.as("day_tokens"),
    ])
    .where("day", ">=", firstDayOf(month))
    .where("day", "<", firstDayOf(month + 1));
}

const totalFromRow = (
  { keyId, day }: Pick<KeyTotal, "keyId" | "day">,
  { day_tokens, month_tokens }: { readonly day_tokens: Total; readonly month_tokens: Total },
): KeyTotal => ({
  keyId,
  day,
  month: monthOfDay(day),
  dayTokens: Number(day_tokens ?? 0),
  monthTokens: Number(month_tokens ?? 0),
});

type Sums = SelectQueryBuilder<Tables, "usage_days", object>;

function grouped<Q extends Sums>(query: Q, group: UsageGroup): Q {
  // A key may be called otherwise one day: its id is what counts, and one of its names is shown.
  if (group === "key") {
    return query
      .groupBy("key_id")
      .select(["key_id", (row) => row.fn.max("key_name").as("key_name")])
      .orderBy(sql`max(key_name)`)
      .orderBy("key_id") as unknown as Q;
  }
  return query.groupBy(group).select(group).orderBy(group) as unknown as Q;
}

const sumFromRow = (row: Partial<Days>): UsageSum => ({
  keyId: row.key_id,
  keyName: row.key_name,
  model: row.model,
  day: row.day,
  requests: Number(row.requests ?? 0),
  prompt: Number(row.prompt_tokens ?? 0),
  cached: Number(row.cached_tokens ?? 0),
  completion: Number(row.completion_tokens ?? 0),
  estimated: Number(row.estimated ?? 0),
});
