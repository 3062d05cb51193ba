import type { DesiredReplica } from "../core/desired.ts";
import type { Millis } from "../core/ids.ts";
import type { Endpoint } from "../core/replica-state.ts";
import type { Capacity, ProcessRef } from "./supervision.ts";

/** What was written down of a launch: the intent before the spawn, the process after it. */
export interface LaunchRecord {
  /** In the environment of every process of the launch. */
  readonly launchId: string;
  /** The machine's boot that it was started in. */
  readonly bootId: string;
  /** Everything that is needed to go on without the control plane. */
  readonly replica: DesiredReplica;
  readonly endpoint: Endpoint;
  /** Where the engine is asked for its health. */
  readonly probeHost: string;
  /** Which engine, for the adapter, and its name and version for people. */
  readonly engine: { readonly name: string; readonly version: string };
  /** Undefined: the agent ended between the intent and the spawn, or right after the spawn. */
  readonly process: ProcessRef | undefined;
  /** The process that waits for the engine and writes down how it ended. It leads the session and group of both. */
  readonly keeper: ProcessRef | undefined;
  /** The control groups that hold the engine and whatever it starts; none where the machine has none to give. */
  readonly cgroups: readonly string[];
  /** Of the command line and of the environment that it was started with: by them a start is found whose pid is not here yet. */
  readonly hashes: { readonly argv: string; readonly env: string };
  /** Set once a real piece of work came back. */
  readonly capacity: Capacity | undefined;
  /** Processes started for this replica, this one included. */
  readonly launches: number;
  /** Bytes of the log file that belong to earlier launches. */
  readonly logOffset: number;
  /** Wall clock. */
  readonly startedAt: Millis;
}

/** What the machine says of a process. "unknown" is an answer: it is no evidence of death. */
export type ProcessFinding =
  | { readonly kind: "alive"; readonly process: ProcessRef }
  /** Ended, and its parent has not asked for its status yet. It answers signal 0 like a living one. */
  | { readonly kind: "zombie" }
  | { readonly kind: "gone" }
  | { readonly kind: "unknown"; readonly why: string };

export type Wanted =
  | { readonly kind: "notAskedYet" }
  | { readonly kind: "no" }
  | ({ readonly kind: "yes" } & Pick<DesiredReplica, "specHash" | "generation" | "gang">);

export interface AdoptionEvidence {
  readonly record: LaunchRecord;
  /** Of the boot that the machine is in; undefined when it does not say. */
  readonly bootId: string | undefined;
  /** Of the recorded pid; without one, of the process that carries the launch's mark. */
  readonly process: ProcessFinding;
  readonly wanted: Wanted;
}

export type AdoptionDecision =
  | { readonly kind: "adopt"; readonly process: ProcessRef; readonly resumeAs: "ready" | "starting" }
  | { readonly kind: "stop"; readonly process: ProcessRef; readonly why: string }
  | { readonly kind: "forget"; readonly why: string }
  | { readonly kind: "wait"; readonly why: string };

/** First rule that applies wins. Nothing is stopped that is not proven to be this launch, nor because nobody was asked. */
export function decideAdoption(evidence: AdoptionEvidence): AdoptionDecision {
  const { record, wanted } = evidence;
  const owned = ownedProcess(evidence);
  if (owned.kind !== "ours") return owned;
  const { process } = owned;
  if (wanted.kind === "no") return { kind: "stop", process, why: "no longer wanted" };
  if (wanted.kind === "yes" && !isSameLaunch(wanted, record.replica)) {
    return { kind: "stop", process, why: "changed while the agent was away" };
  }
  // A slow answer is no proof of anything: what had proven itself before is taken over as it was.
  return { kind: "adopt", process, resumeAs: record.capacity === undefined ? "starting" : "ready" };
}

type Ownership =
  { readonly kind: "ours"; readonly process: ProcessRef } | Extract<AdoptionDecision, { kind: "forget" | "wait" }>;

function ownedProcess({ record, bootId, process }: AdoptionEvidence): Ownership {
  if (bootId === undefined) return { kind: "wait", why: "the machine does not say which boot it is in" };
  if (bootId !== record.bootId) return { kind: "forget", why: "the machine was started again" };
  if (process.kind === "unknown") return { kind: "wait", why: process.why };
  if (process.kind === "gone") return { kind: "forget", why: "its process ended" };
  if (process.kind === "zombie")
    return { kind: "forget", why: "its process ended, although nobody has asked for its status" };
  if (record.process !== undefined && !isSameProcess(record.process, process.process)) {
    return { kind: "forget", why: "its process ended, and its pid was given to another" };
  }
  return { kind: "ours", process: process.process };
}

export const isSameProcess = (a: ProcessRef, b: ProcessRef): boolean =>
  a.pid === b.pid && a.startTicks === b.startTicks;

const isSameLaunch = (wanted: Extract<Wanted, { kind: "yes" }>, launched: DesiredReplica): boolean =>
  wanted.specHash === launched.specHash &&
  wanted.generation === launched.generation &&
  wanted.gang?.attempt === launched.gang?.attempt;
