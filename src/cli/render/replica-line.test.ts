import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ReplicaSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { failureText, onlyReplicaLine, replicaLine } from "./replica-line.ts";

const replica = (rest: Parameters<typeof create<typeof ReplicaSchema>>[1]) =>
  create(ReplicaSchema, { id: "phi-1", profile: "phi", ...rest });
const MIB = 2 ** 20;

test("what is being waited for, in words", () => {
  const pending = replica({ state: "pending", reason: "no node takes it: a: too\nsmall" });
  expect(replicaLine(pending).text).toBe("phi-1: pending, no node takes it: a: too small");
  expect(replicaLine(replica({ state: "starting", node: "a", reason: "loading" })).text).toBe(
    "phi-1 on a: starting, loading",
  );
});

test("numbers that run are no new step; another file is", () => {
  const at = (what: string, bytesDone: number) =>
    replica({ state: "preparing", node: "a", progress: { what, bytesDone, bytesTotal: 4 * MIB, bytesPerSecond: MIB } });
  const [one, two, other] = [at("fetching x", MIB), at("fetching x", 2 * MIB), at("fetching y", 0)].map(
    onlyReplicaLine,
  );
  expect(one?.step).toBe(two?.step);
  expect(one?.text).not.toBe(two?.text);
  expect(other?.step).not.toBe(one?.step);
  expect(one?.text).toMatch(/^phi: fetching x {2}█+░+ {3}25% {2}1\.0 MiB of 4\.0 MiB {2}1\.0 MiB\/s {2}3s left$/);
});

test("the seconds until the next try are no new step", () => {
  const waiting = (seconds: number) =>
    replica({ state: "preparing", progress: { what: `the Hub cannot be reached; next try in ${String(seconds)}s` } });
  expect(replicaLine(waiting(5)).step).toBe(replicaLine(waiting(4)).step);
});

test("a failure brings the engine's last lines with it", () => {
  const failed = replica({ state: "failed", reason: "out of memory", lastLines: ["a", "b\u001b[2J"] });
  expect(failureText(failed)).toBe("replica phi-1 failed: out of memory\nThe engine's last lines:\n  a\n  b [2J");
});
