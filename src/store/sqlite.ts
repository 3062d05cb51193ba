import { Kysely, SqliteDialect, type Transaction } from "kysely";
import type { ClusterEvent, NewEvent } from "../core/event.ts";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { migrate } from "./migrate.ts";
import { byAge } from "../core/measured-memory.ts";
import { openNodeSqlite } from "./node-sqlite.ts";
import {
  aliasFromRow,
  aliasRow,
  eventFromRow,
  keyFromRow,
  keyRow,
  measurementFromRow,
  measurementRow,
  modelFromRow,
  modelRow,
  nodeFromRow,
  nodeRow,
  profileFromRow,
  profileRow,
  replicaFromRow,
  replicaRow,
  specFromRow,
  specRow,
  tokenFromRow,
  tokenRow,
  upstreamFromRow,
  upstreamRow,
} from "./rows.ts";
import type { Tables } from "./schema.ts";
import { UsageTables } from "./usage-tables.ts";
import type { UsageStore } from "./usage.ts";
import type { Changes, EventQuery, Snapshot, Store } from "./store.ts";

/** Older events make room: enough for weeks of a quiet cluster, and a few MB. */
const KEPT_EVENTS = 20_000;

export interface SqliteStoreOptions {
  /** A file in a folder that exists, which should be there already with mode 0600; or ":memory:". */
  readonly path: string;
  /** For a new store: what it calls itself from then on. */
  readonly newServerId: string;
  readonly keptEvents?: number;
}

/** Opens or makes the store. Fails in words when the file is of a newer llmgw. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, newServerId, keptEvents = KEPT_EVENTS } = options;
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: () => Promise.resolve(openNodeSqlite(path)) }),
  });
  try {
    await migrate(db as Kysely<unknown>, path);
    await db
      .insertInto("meta")
      .values({ key: "server_id", value: newServerId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return new SqliteStore(db, keptEvents);
}

class SqliteStore implements Store {
  readonly #db: Kysely<Tables>;
  readonly #keptEvents: number;
  readonly usage: UsageStore;

  constructor(db: Kysely<Tables>, keptEvents: number) {
    this.#db = db;
    this.usage = new UsageTables(db);
    this.#keptEvents = keptEvents;
  }

  /** In one transaction: no part of it is of another revision. */
  load(): Promise<Snapshot> {
    return this.#db.transaction().execute(async (db) => {
      const [revision, serverId] = [await metaOf(db, "revision"), await metaOf(db, "server_id")];
      const profiles = await db.selectFrom("profiles").selectAll().orderBy("name").execute();
      const aliases = await db.selectFrom("aliases").select("body").orderBy("name").execute();
      const upstreams = await db.selectFrom("upstreams").select("body").orderBy("name").execute();
      const specs = await db.selectFrom("specs").selectAll().orderBy("profile").orderBy("spec_hash").execute();
      const nodes = await db.selectFrom("nodes").select("body").orderBy("id").execute();
      const replicas = await db.selectFrom("replicas").select("body").orderBy("id").execute();
      const models = await db.selectFrom("models").select("body").orderBy("source").execute();
      const measurements = await db.selectFrom("measurements").select("body").execute();
      const keys = await db.selectFrom("client_keys").select("body").orderBy("id").execute();
      const tokens = await db.selectFrom("tokens").select("body").orderBy("id").execute();
      return {
        revision: Number(revision),
        serverId,
        profiles: profiles.map(profileFromRow),
        aliases: aliases.map(aliasFromRow),
        upstreams: upstreams.map(upstreamFromRow),
        specs: specs.map(specFromRow),
        nodes: nodes.map(nodeFromRow),
        replicas: replicas.map(replicaFromRow),
        models: models.map(modelFromRow),
        measurements: measurements.map(measurementFromRow).toSorted(byAge),
        keys: keys.map(keyFromRow),
        tokens: tokens.map(tokenFromRow),
      };
    });
  }

  commit(expectedRevision: number, changes: Changes, now: Millis): Promise<Result<number, "stale">> {
    return this.#db.transaction().execute(async (db) => {
      const next = expectedRevision + 1;
      // The write comes first: it takes the database's one write lock before anything is compared.
      const { numUpdatedRows } = await db
        .updateTable("meta")
        .set({ value: String(next) })
        .where("key", "=", "revision")
        .where("value", "=", String(expectedRevision))
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return err("stale");
      await write(db, changes);
      await this.#appendEvents(db, changes.events, now);
      return ok(next);
    });
  }

  async #appendEvents(db: Transaction<Tables>, events: readonly NewEvent[], now: Millis): Promise<void> {
    let newest = 0;
    for (const { level, subjectKind, subject, reason, message } of events) {
      const row = { at: now, level, subject_kind: subjectKind, subject, reason, message };
      const { insertId } = await db.insertInto("events").values(row).executeTakeFirstOrThrow();
      newest = Number(insertId);
    }
    if (newest <= this.#keptEvents) return;
    await db
      .deleteFrom("events")
      .where("id", "<=", newest - this.#keptEvents)
      .execute();
  }

  async events({ after, limit, subject }: EventQuery): Promise<readonly ClusterEvent[]> {
    let query = this.#db.selectFrom("events").selectAll().where("id", ">", after).orderBy("id", "desc").limit(limit);
    if (subject !== undefined) query = query.where("subject", "=", subject);
    return (await query.execute()).reverse().map(eventFromRow);
  }

  async close(): Promise<void> {
    await this.#db.destroy();
  }
}

async function metaOf(db: Transaction<Tables>, key: string): Promise<string> {
  const row = await db.selectFrom("meta").select("value").where("key", "=", key).executeTakeFirstOrThrow();
  return row.value;
}

async function write(db: Transaction<Tables>, changes: Changes): Promise<void> {
  for (const row of changes.putProfiles.map(profileRow)) await db.replaceInto("profiles").values(row).execute();
  for (const name of changes.dropProfiles) await db.deleteFrom("profiles").where("name", "=", name).execute();
  for (const row of changes.putSpecs.map(specRow)) await db.replaceInto("specs").values(row).execute();
  for (const { profile, specHash } of changes.dropSpecs) {
    await db.deleteFrom("specs").where("profile", "=", profile).where("spec_hash", "=", specHash).execute();
  }
  for (const row of changes.putNodes.map(nodeRow)) await db.replaceInto("nodes").values(row).execute();
  for (const id of changes.dropNodes) await db.deleteFrom("nodes").where("id", "=", id).execute();
  for (const row of changes.putReplicas.map(replicaRow)) await db.replaceInto("replicas").values(row).execute();
  for (const id of changes.dropReplicas) await db.deleteFrom("replicas").where("id", "=", id).execute();
  await writeNames(db, changes);
  await writeKnowledge(db, changes);
}

async function writeNames(db: Transaction<Tables>, changes: Changes): Promise<void> {
  for (const row of changes.putAliases.map(aliasRow)) await db.replaceInto("aliases").values(row).execute();
  for (const name of changes.dropAliases) await db.deleteFrom("aliases").where("name", "=", name).execute();
  for (const row of changes.putUpstreams.map(upstreamRow)) await db.replaceInto("upstreams").values(row).execute();
  for (const name of changes.dropUpstreams) await db.deleteFrom("upstreams").where("name", "=", name).execute();
}

async function writeKnowledge(db: Transaction<Tables>, changes: Changes): Promise<void> {
  for (const row of changes.putModels.map(modelRow)) await db.replaceInto("models").values(row).execute();
  for (const source of changes.dropModels) await db.deleteFrom("models").where("source", "=", source).execute();
  for (const row of changes.putMeasurements.map(measurementRow)) {
    await db.replaceInto("measurements").values(row).execute();
  }
  for (const key of changes.dropMeasurements) await db.deleteFrom("measurements").where("key", "=", key).execute();
  for (const row of changes.putKeys.map(keyRow)) await db.replaceInto("client_keys").values(row).execute();
  for (const row of changes.putTokens.map(tokenRow)) await db.replaceInto("tokens").values(row).execute();
  for (const id of changes.dropTokens) await db.deleteFrom("tokens").where("id", "=", id).execute();
}
