import { expect, test } from "vitest";
import { profile, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import { afterDraining, type RouterReport } from "./drain.ts";

const END = 60_000;
const draining = replica("a", profile("smol"), {
  kind: "draining",
  endpoint: { host: "10.0.0.1", port: 41_000 },
  slots: 4,
  deadline: millis(END),
  why: "changed",
});
const report = (tableRevision: number, inFlight: number): RouterReport => {
  const busy = inFlight === 0 ? [] : [[draining.id, inFlight] as const];
  return { router: "r", tableRevision, inFlight: new Map(busy), waiting: new Map() };
};

test.each([
  { name: "a request is in flight", now: 1, reports: [report(7, 1)], want: "draining" },
  { name: "nothing is", now: 1, reports: [report(7, 0)], want: "stopping" },
  { name: "a router has still to read that it is gone", now: 1, reports: [report(6, 0)], want: "draining" },
  { name: "the time is over", now: END, reports: [report(7, 1)], want: "stopping" },
  { name: "routers may still come back", now: 1, settled: false, reports: [], want: "draining" },
  { name: "they may, and the time is over", now: END, settled: false, reports: [], want: "draining" },
])("draining, $name: $want", ({ now, reports, settled = true, want }) => {
  const routers = { reports, settled, goneSince: new Map([[draining.id, 7]]) };
  expect(afterDraining(draining, routers, millis(now)).kind).toBe(want);
});
