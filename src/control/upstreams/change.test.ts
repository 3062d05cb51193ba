import { describe, expect, test } from "vitest";
import { snapshot } from "../../../test/fakes/snapshots.ts";
import { profile } from "../../../test/fakes/values.ts";
import { millis } from "../../core/ids.ts";
import type { Upstream } from "../../core/upstream.ts";
import { deleteUpstream, putUpstreams, upstreamProblems, upstreamWarnings } from "./change.ts";

const now = millis(5_000);
const upstream = (name: string, models: readonly string[], more: Partial<Upstream> = {}): Upstream => ({
  ...{ name, url: "https://api.example", models: models.map((model) => ({ name: model, remote: model })) },
  ...more,
});

test("each model name leads to one place", () => {
  const all = {
    profiles: [profile("big", { serves: ["big", "default"] })],
    aliases: [],
    upstreams: [upstream("a", ["x", "default"]), upstream("b", ["y", "x"])],
  };
  expect(upstreamProblems(all)).toEqual([
    "a: the model name default of the upstream is served by the profile big too",
    "b: the model name x of the upstream is served by the upstream a too",
  ]);
});

test("one is created, left as it is, changed and deleted", () => {
  const first = putUpstreams(snapshot(), [upstream("b", ["m"]), upstream("a", ["n"])], now);
  expect(first.answer.map(({ outcome }) => outcome)).toEqual(["created", "created"]);
  expect(first.snapshot.upstreams.map((one) => one.upstream.name)).toEqual(["a", "b"]);

  const again = putUpstreams(first.snapshot, [upstream("a", ["n"])], millis(9_000));
  expect(again).toMatchObject({ answer: [{ outcome: "unchanged" }], events: [] });
  expect(again.snapshot).toBe(first.snapshot);

  const changed = putUpstreams(first.snapshot, [upstream("a", ["n", "o"])], millis(9_000));
  expect(changed.answer).toEqual([{ name: "a", outcome: "changed" }]);
  expect(changed.snapshot.upstreams[0]).toMatchObject({ createdAt: now, updatedAt: 9_000 });
  expect(changed.events).toMatchObject([{ reason: "UpstreamChanged", subject: "a" }]);

  expect(deleteUpstream(changed.snapshot, "c")).toEqual({ ok: false, error: ["a", "b"] });
  expect(deleteUpstream(changed.snapshot, "a")).toMatchObject({
    value: { snapshot: { upstreams: [{ upstream: { name: "b" } }] }, events: [{ reason: "UpstreamDeleted" }] },
  });
});

describe("a key in the clear", () => {
  test.each([
    ["https://api.example", "/k", false],
    ["http://10.0.0.1:8000/v1", "/k", true],
    ["HTTP://x", "/k", true],
    ["http://10.0.0.1:8000/v1", undefined, false],
    ["http://127.0.0.1:1", "/k", false],
    ["http://[::1]:1", "/k", false],
    ["http://localhost:1", "/k", false],
  ])("%s with %s: %s", (url, keyFile, isWarned) => {
    const of = upstream("a", ["m"], { url, ...(keyFile === undefined ? {} : { keyFile }) });
    expect(upstreamWarnings(of)).toHaveLength(isWarned ? 1 : 0);
    const { events } = putUpstreams(snapshot(), [of], now);
    expect(events.map(({ reason }) => reason).slice(1)).toEqual(isWarned ? ["UpstreamInTheClear"] : []);
  });
});
