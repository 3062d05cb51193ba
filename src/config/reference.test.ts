import { describe, expect, test } from "vitest";
import { configReference } from "./reference.ts";

const rows = configReference().flatMap(({ title, rows: all }) => all.map((row) => ({ title, ...row })));

describe("every setting explains itself", () => {
  test.each(rows)("$title $key", ({ doc, fallback, type }) => {
    expect(doc, "setting() gives the sentence").toMatch(/^\S.*\.$/);
    expect(fallback, "setting() says in words what holds without the key").not.toBe("");
    expect(type).not.toBe("");
  });
});

test.each([
  { title: "agent.yaml", key: "server", type: "address, or list of addresses", fallback: "required" },
  { title: "agent.yaml", key: "fabrics[].hcas", type: "list of names", fallback: "required" },
  { title: "agent.yaml", key: "heartbeat_interval", type: "duration", fallback: '"5s"' },
  { title: "agent.yaml", key: "engines.llama.cpp.bin", type: "path" },
  { title: "server.yaml", key: "router", type: "map", fallback: "see below" },
  { title: "server.yaml", key: "nodes.brake", type: "number", fallback: "0.5" },
  { title: "kind: Profile", key: "replicas", type: "whole number, or map", fallback: "1" },
  { title: "kind: Profile", key: "replicas.idle", type: "duration", fallback: '"10m"' },
  { title: "kind: Profile", key: "kind", type: "Profile", fallback: "required" },
  { title: "kind: Alias", key: "targets[].weight", type: "number", fallback: "1" },
])("the line of $key in $title", ({ title, key, ...want }) => {
  expect(rows.find((row) => row.title === title && row.key === key)).toMatchObject(want);
});
