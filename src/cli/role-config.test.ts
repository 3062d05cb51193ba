import { expect, test } from "vitest";
import { changedKeys } from "./role-config.ts";

const before = "server:\n  - http://a:7443\nlabels:\n  rack: r1\nheartbeat_interval: 5s\n";

test.each([
  { name: "nothing", after: before, want: [] },
  { name: "one value", after: before.replace("5s", "6s"), want: ["heartbeat_interval"] },
  { name: "something inside", after: before.replace("r1", "r2"), want: ["labels"] },
  { name: "a new key", after: `${before}node_id: a\n`, want: ["node_id"] },
  { name: "one less", after: before.replace("heartbeat_interval: 5s\n", ""), want: ["heartbeat_interval"] },
])("what changed: $name", ({ after, want }) => {
  expect(changedKeys(before, after)).toEqual(want);
});
