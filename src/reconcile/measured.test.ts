import { expect, test } from "vitest";
import { report, seen, seenReady } from "../../test/fakes/cluster-plan.ts";
import { node, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, gpuUuid, nodeId } from "../core/ids.ts";
import type { MeasuredMemory } from "../core/measured-memory.ts";
import type { Replica } from "../core/replica-state.ts";
import type { NodeReports } from "./follow.ts";
import { measuredReplica } from "./measured.ts";

const smol = profile("smol");
const one = replica("smol-1", smol, ready);
const memory = (host: number): MeasuredMemory => ({
  host: bytes(host),
  gpus: [{ uuid: gpuUuid("g"), bytes: bytes(2 * host) }],
});

const reports = (found: MeasuredMemory | undefined, liveness = node("n1").liveness): NodeReports => {
  const said = seen(one, seenReady, found === undefined ? {} : { memory: found });
  return new Map([[nodeId("n1"), report([said], { liveness })]]);
};
const known = (of: MeasuredMemory): Replica => ({ ...one, measured: [{ node: nodeId("n1"), memory: of }] });

test.each([
  { name: "the first figure", from: one, said: reports(memory(1)), want: known(memory(1)) },
  { name: "a newer one", from: known(memory(1)), said: reports(memory(2)), want: known(memory(2)) },
  { name: "none yet", from: one, said: reports(undefined), want: one },
])("$name", ({ from, said, want }) => {
  expect(measuredReplica(from, said)).toEqual(want);
});

test.each([
  { name: "the same numbers in a new report", from: known(memory(1)), said: reports(memory(1)) },
  { name: "an agent that came back and has not measured yet", from: known(memory(1)), said: reports(undefined) },
  { name: "an unreachable node", from: known(memory(1)), said: reports(memory(9), "unreachable") },
  {
    name: "an engine that is not ready",
    from: replica("smol-1", smol, { kind: "placed" }),
    said: reports(memory(1)),
  },
])("$name changes nothing: the same object", ({ from, said }) => {
  expect(measuredReplica(from, said)).toBe(from);
});
