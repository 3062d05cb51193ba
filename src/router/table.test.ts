import { afterEach, describe, expect, test } from "vitest";
import { RouteSource } from "../../test/fakes/router-harness.ts";
import { until } from "../../test/e2e/wait.ts";
import { profileName, replicaId } from "../core/ids.ts";
import type { RouteTable } from "../core/route.ts";
import { systemClock } from "../platform/clock.ts";
import { silentLogger } from "../platform/logger.ts";
import { onlyControlPlane } from "./control-line.ts";
import { Fleet } from "./fleet.ts";
import { KeyBook } from "./keys/key-book.ts";
import type { Heard, SessionPart } from "./session-part.ts";
import { TableClient } from "./table.ts";

const table = (revision: number, ports: readonly number[]): RouteTable => ({
  revision,
  models: [
    {
      name: "m",
      profile: profileName("m"),
      created: 1,
      waitingFor: "",
      waitSeconds: 0,
      replicas: ports.map((port) => ({
        id: replicaId(`r${String(port)}`),
        host: "127.0.0.1",
        port,
        apiKey: "k",
        slots: 1,
      })),
    },
  ],
});

let client: TableClient;

afterEach(async () => {
  await client.stop();
});

function start(source: RouteSource, parts: readonly SessionPart[] = []): Fleet {
  const fleet = new Fleet(systemClock);
  client = new TableClient({
    control: onlyControlPlane(source.transport()),
    holder: fleet,
    keys: new KeyBook(),
    parts,
    routerId: "r",
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
  });
  client.start();
  return fleet;
}

const ids = (fleet: Fleet): readonly string[] =>
  [...fleet.models()].flatMap(({ replicas }) => replicas.map(({ id }) => id));

describe("the session with the control plane", () => {
  test("takes each table and reports it", async () => {
    const source = new RouteSource();
    const fleet = start(source);
    source.push(table(1, [1, 2]));
    await until("the first table", () => fleet.revision === 1);
    expect(ids(fleet)).toEqual(["r1", "r2"]);
    source.push(table(2, [2]));
    await until("a report of the second", () => source.reports.some(({ tableRevision }) => tableRevision === 2));
    expect(ids(fleet)).toEqual(["r2"]);
  });

  test("takes what changes in a table, and whoever listens hears of the whole one", async () => {
    const source = new RouteSource();
    source.tellsChanges = true;
    const heard: Heard[] = [];
    const listener: SessionPart = {
      opened: () => undefined,
      next: () => undefined,
      heard: (body) => {
        heard.push(body);
      },
      closed: () => undefined,
    };
    const fleet = start(source, [listener]);
    source.push(table(7, [1, 2]));
    await until("the first table", () => fleet.revision === 7);
    source.push(table(8, [2, 3]));
    await until("the second", () => fleet.revision === 8);
    expect(ids(fleet)).toEqual(["r2", "r3"]);
    source.push({ revision: 9, models: [] });
    await until("the third", () => fleet.revision === 9);
    expect(ids(fleet)).toEqual([]);
    expect(heard.map((body) => [body.case, body.case === "table" ? body.value.models.length : 0])).toEqual([
      ["table", 1],
      ["table", 1],
      ["table", 0],
    ]);
    expect(source.sessions).toBe(1);
  });

  test("reports what is in flight, also of replicas that are no longer listed, until it is over", async () => {
    const source = new RouteSource();
    const fleet = start(source);
    source.push(table(1, [1]));
    await until("the table", () => fleet.revision === 1);
    const [replica] = fleet.model("m")?.replicas ?? [];
    if (replica === undefined) throw new Error("no replica");
    fleet.begin(replica, systemClock.monotonic());
    source.push(table(2, []));
    await until("a report with it", () =>
      source.reports.some((report) => report.tableRevision === 2 && report.inFlight["r1"] === 1),
    );
    fleet.end(replica);
    await until("a report without it", () => {
      const last = source.reports.at(-1);
      return last?.tableRevision === 2 && last.inFlight["r1"] === undefined;
    });
  });

  test("keeps the last table while the control plane is away, and comes back", async () => {
    const source = new RouteSource();
    const fleet = start(source);
    source.push(table(1, [1]));
    await until("the table", () => fleet.revision === 1);
    source.cut();
    expect(ids(fleet)).toEqual(["r1"]);
    source.push(table(2, [2]));
    await until("the table of a second session", () => fleet.revision === 2);
    expect(source.sessions).toBeGreaterThan(1);
    expect(ids(fleet)).toEqual(["r2"]);
  });
});
