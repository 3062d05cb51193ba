import { describe, expect, test } from "vitest";
import type { DesiredReplica } from "../core/desired.ts";
import { millis, profileName, replicaId } from "../core/ids.ts";
import { boundedLines, observe } from "./observe.ts";
import { newSupervision, type Supervision } from "./supervision.ts";

const replica: DesiredReplica = {
  id: replicaId("chat-1"),
  profile: profileName("chat"),
  specHash: "h1",
  serves: ["chat"],
  engine: "auto",
  model: { source: "file:/m.gguf", files: [], sha256: {} },
  context: undefined,
  args: [],
  env: {},
  gpus: [],
  apiKey: "k",
  startTimeout: millis(1000),
  generation: 1,
};
const process = { pid: 42, startTicks: 777 };
const endpoint = { host: "10.0.0.11", port: 41_000 };

const seen = (over: Partial<Supervision>) =>
  observe(replica, { supervision: { ...newSupervision, ...over }, engine: "llama.cpp b1" }, millis(0));

describe("observe", () => {
  test("a first start has nothing to add", () => {
    const state = { kind: "starting", process, endpoint, deadline: millis(9), note: "" } as const;
    expect(seen({ state, launches: 1 })).toMatchObject({ pid: 42, restarts: 0, state: { kind: "starting", note: "" } });
  });

  test("a later start says why the one before ended", () => {
    const state = { kind: "starting", process, endpoint, deadline: millis(9), note: "loading" } as const;
    expect(seen({ state, launches: 3, lastEnd: "it crashed" })).toMatchObject({
      restarts: 2,
      state: { note: "loading (the last start ended: it crashed)" },
    });
  });

  test("ready says where and what", () => {
    const capacity = { slots: 4, context: 2048 };
    const state = { kind: "ready", process, endpoint, capacity, since: millis(0), unanswered: 0 } as const;
    expect(seen({ state }).state).toEqual({ kind: "ready", endpoint, slots: 4, context: 2048, engine: "llama.cpp b1" });
  });

  test("between two tries it says when the next begins", () => {
    const state = { kind: "backoff", retryAt: millis(8000), phase: "starting" } as const;
    expect(seen({ state, lastEnd: "it crashed" }).state).toEqual({
      kind: "starting",
      note: "it crashed; next try in 8s",
    });
    expect(seen({ state: { ...state, phase: "preparing" }, lastEnd: "no route" }).state).toMatchObject({
      kind: "preparing",
      progress: { what: "no route; next try in 8s" },
    });
  });

  test("an attempt that is being ended for another is not a stop", () => {
    const attempt = { end: { reason: "start-timeout", retry: true }, served: undefined };
    const state = {
      kind: "stopping",
      process,
      killAt: millis(0),
      note: "",
      outcome: { kind: "failure", attempt },
    } as const;
    expect(seen({ state }).state.kind).toBe("starting");
  });

  test.each([
    { note: "", want: { kind: "stopping" } },
    { note: "GPU memory still held by pid 9", want: { kind: "stopping", note: "GPU memory still held by pid 9" } },
  ])("B19 a stop says what it waits for: $note", ({ note, want }) => {
    const state = { kind: "stopping", process, killAt: millis(0), note, outcome: { kind: "stopped" } } as const;
    expect(seen({ state }).state).toEqual(want);
  });
});

describe("B49 what an engine printed fits into a report", () => {
  test("a short log is whole", () => {
    expect(boundedLines(["a", "b"])).toEqual(["a", "b"]);
  });

  test("the end of a long log is kept, and where it was cut is said", () => {
    const lines = Array.from({ length: 200_000 }, (_, n) => `line ${String(n)} ${"x".repeat(100)}`);
    const kept = boundedLines(lines);
    expect(kept.at(-1)).toBe(lines.at(-1));
    expect(kept[0]).toMatch(/^… \(\d+ earlier lines left out\)$/);
    expect(kept.join("\n").length).toBeLessThan(40_000);
  });

  test("one endless line is cut and says so", () => {
    expect(boundedLines(["y".repeat(20 * 1024 * 1024)])).toEqual([`${"y".repeat(1024)} … (line cut)`]);
  });
});
