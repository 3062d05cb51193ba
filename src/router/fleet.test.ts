import { expect, test } from "vitest";
import { millis, profileName, replicaId } from "../core/ids.ts";
import type { RouteTable } from "../core/route.ts";
import { systemClock } from "../platform/clock.ts";
import { Fleet, type Replica } from "./fleet.ts";

const route = (id: string, port: number) => ({ id: replicaId(id), host: "127.0.0.1", port, apiKey: "k", slots: 2 });
const table = (revision: number, ...replicas: readonly ReturnType<typeof route>[]): RouteTable => ({
  revision,
  models: [{ name: "m", profile: profileName("m"), created: 1, waitingFor: "", waitSeconds: 0, replicas }],
});

function first(fleet: Fleet): Replica {
  const replica = fleet.model("m")?.replicas[0];
  if (replica === undefined) throw new Error("no replica");
  return replica;
}

test("B115 a replica that was removed and added again with a request running keeps one counter", () => {
  const fleet = new Fleet(systemClock);
  fleet.update(table(1, route("a", 1)));
  const replica = first(fleet);
  fleet.begin(replica, millis(0));
  fleet.update(table(2));
  expect(fleet.inFlight()).toEqual({ a: 1 });
  fleet.update(table(3, route("a", 1)));
  expect(first(fleet)).toBe(replica);
  fleet.end(replica);
  expect([first(fleet).inFlight, fleet.inFlight()]).toEqual([0, {}]);
});

test("a replica that moved is another one, and both are counted under its id", () => {
  const fleet = new Fleet(systemClock);
  fleet.update(table(1, route("a", 1)));
  const old = first(fleet);
  fleet.begin(old, millis(0));
  fleet.update(table(2, route("a", 2)));
  expect(first(fleet)).not.toBe(old);
  fleet.begin(first(fleet), millis(0));
  expect(fleet.inFlight()).toEqual({ a: 2 });
});

test("what returns after it was away is trusted anew", () => {
  const fleet = new Fleet(systemClock);
  fleet.update(table(1, route("a", 1)));
  const replica = first(fleet);
  replica.saw("refused", millis(0));
  fleet.update(table(2, route("a", 1)));
  expect(first(fleet).health.kind).toBe("aside");
  fleet.update(table(3));
  fleet.update(table(4, route("a", 1)));
  expect(first(fleet).health.kind).toBe("good");
});

test("a replica is given its slots and the headroom, and any number when it has not said how many it has", () => {
  const fleet = new Fleet(systemClock);
  fleet.update(table(1, route("a", 1), { ...route("b", 2), slots: 0 }));
  expect(fleet.model("m")?.replicas.map(({ most }) => most)).toEqual([3, Infinity]);
});

test("prompts that are unread are counted until they are answered", () => {
  const fleet = new Fleet(systemClock);
  fleet.update(table(1, route("a", 1)));
  const replica = first(fleet);
  fleet.begin(replica, millis(0), { tokens: 700, keys: [1, 2] });
  expect(replica.queuedTokens).toBe(700);
  expect(fleet.prefixes.holders(2)).toEqual(["a"]);
  fleet.end(replica, 700);
  expect([replica.queuedTokens, replica.inFlight]).toEqual([0, 0]);
});
