import { expect, test } from "vitest";
import type { ObservedReplicaState } from "../core/observed.ts";
import { specHash } from "../core/profile.ts";
import { replicaId } from "../core/ids.ts";
import { profile } from "../../test/fakes/values.ts";
import { quietReport } from "./quiet-report.ts";

const spec = profile("smol", {
  env: { HF_TOKEN: "odd-form-of-a-token", LEVEL: "INFO" },
  args: ["--api-key", "a-key-12"],
});
const known = {
  keyOf: (id: string) => (id === "smol-1" ? "key-of-smol-1" : undefined),
  specOf: () => spec,
};

const heard = (state: ObservedReplicaState): ObservedReplicaState | undefined => {
  const replica = { id: replicaId("smol-1"), profile: spec.name, specHash: specHash(spec), state, restarts: 0, pid: 1 };
  return quietReport({ revision: 1, replicas: [replica] }, known).replicas[0]?.state;
};

test.each<{ name: string; said: ObservedReplicaState; heard: ObservedReplicaState }>([
  {
    name: "why it failed, and its last lines",
    said: {
      kind: "failed",
      reason: "HF_TOKEN odd-form-of-a-token",
      lastLines: ["--api-key key-of-smol-1", "LEVEL INFO"],
    },
    heard: { kind: "failed", reason: "HF_TOKEN [hidden]", lastLines: ["--api-key [its key]", "LEVEL INFO"] },
  },
  {
    name: "what it says at its start",
    said: { kind: "starting", note: "tries a-key-12" },
    heard: { kind: "starting", note: "tries [hidden]" },
  },
  {
    name: "what its end waits for",
    said: { kind: "stopping", note: "key-of-smol-1" },
    heard: { kind: "stopping", note: "[its key]" },
  },
  { name: "nothing", said: { kind: "stopping" }, heard: { kind: "stopping" } },
  { name: "a state without words", said: { kind: "stopped" }, heard: { kind: "stopped" } },
])("$name", ({ said, heard: want }) => {
  expect(heard(said)).toEqual(want);
});

test("of a replica that is not known, what can be nothing but a secret", () => {
  const said = { kind: "starting", note: "sk-0123456789abcdef key-of-smol-1" } as const;
  const replica = { id: replicaId("other"), profile: spec.name, specHash: "x", state: said, restarts: 0, pid: 1 };
  const none = { keyOf: () => undefined, specOf: () => undefined };
  expect(quietReport({ revision: 1, replicas: [replica] }, none).replicas[0]?.state).toEqual({
    kind: "starting",
    note: "sk-[hidden] key-of-smol-1",
  });
});
