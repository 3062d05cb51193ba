import type { Clock } from "../platform/clock.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { Engine } from "../engines/engine.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import type { WorkLook } from "../reconcile/hang.ts";
import type { Capacity } from "../reconcile/supervision.ts";
import type { Machine } from "./machine.ts";
import type { ProbeTarget } from "./probe.ts";

/** An engine that can be asked. */
export interface ProbedEngine {
  readonly record: Pick<LaunchRecord, "probeHost" | "endpoint" | "replica">;
  readonly engine: Engine;
  readonly machine: Pick<Machine, "askEngine">;
}

interface Asked {
  readonly engine: Pick<Engine, "servesOn">;
  readonly record: Pick<LaunchRecord, "replica">;
}

/** Whether it can be asked at all: of a replica that spans nodes only some ranks can. */
export function canBeAsked({ engine, record }: Asked): boolean {
  const { gang } = record.replica;
  return gang === undefined || (engine.servesOn?.(gang.rank) ?? gang.rank === 0);
}

/** A health answer takes no work; a busy engine may still be late with it. */
const HEALTH_TIMEOUT = millis(5000);
/** The first token of a large model on a slow machine takes minutes; the start timeout ends it in the end. */
const PROOF_TIMEOUT = millis(300_000);

const targetOf = ({ record: { endpoint, probeHost, replica } }: ProbedEngine): ProbeTarget => ({
  ...endpoint,
  host: probeHost,
  apiKey: replica.apiKey,
});

/** Undefined when it is healthy. */
export async function healthNote(target: ProbedEngine, signal: AbortSignal): Promise<string | undefined> {
  const limits = { timeout: HEALTH_TIMEOUT, signal };
  const answer = await target.machine.askEngine(targetOf(target), target.engine.healthRequest(), limits);
  if (!answer.ok) return `its health request: ${answer.error}`;
  const { status, body } = answer.value;
  if (status === 200) return undefined;
  // 503 is how engines say that the model is not in memory yet.
  return status === 503 ? "loading the model" : `its health request: ${String(status)} ${shorten(body)}`;
}

/** The engine's capacity once a real piece of work came back; otherwise why it did not. */
export async function prove(target: ProbedEngine, signal: AbortSignal): Promise<Capacity | string> {
  const outcome = await askForWork(target, { timeout: PROOF_TIMEOUT, signal });
  return outcome.kind === "worked" ? readCapacity(target, signal) : outcome.note;
}

type WorkOutcome =
  | { readonly kind: "worked" }
  /** It answered, but not with work. */
  | { readonly kind: "refused"; readonly note: string }
  | { readonly kind: "unanswered"; readonly note: string };

/** How engines say that a kind of work is not theirs. */
const NOT_ITS_WORK: readonly number[] = [400, 404, 405, 501];

/** Asks for one kind of work after the other, as long as the engine says of each that it is not its. The first refusal is told. */
async function askForWork(
  target: ProbedEngine,
  limits: { readonly timeout: Millis; readonly signal: AbortSignal },
): Promise<WorkOutcome> {
  const { engine, record, machine } = target;
  const requests = [engine.proofRequest(record.replica), ...(engine.furtherProofs?.(record.replica) ?? [])];
  const notes: string[] = [];
  for (const request of requests) {
    const answer = await machine.askEngine(targetOf(target), request, limits);
    const asked = `${request.method} ${request.path}`;
    if (!answer.ok) return { kind: "unanswered", note: `${asked}: ${answer.error}` };
    const proof = engine.checkProof(answer.value.status, answer.value.body);
    if (proof.ok) return { kind: "worked" };
    notes.push(`${asked}: ${shorten(proof.error)}`);
    if (!NOT_ITS_WORK.includes(answer.value.status)) break;
  }
  return { kind: "refused", note: notes[0] ?? "" };
}

/** 0 is "not known": an engine that does not say how much it takes still works. */
async function readCapacity(target: ProbedEngine, signal: AbortSignal): Promise<Capacity> {
  const unknown = { slots: 0, context: target.record.replica.context ?? 0 };
  const request = target.engine.capacityRequest();
  if (request === undefined) return unknown;
  const answer = await target.machine.askEngine(targetOf(target), request, { timeout: HEALTH_TIMEOUT, signal });
  if (!answer.ok || answer.value.status !== 200) return unknown;
  return target.engine.readCapacity(answer.value.body, target.record.replica) ?? unknown;
}

const shorten = (text: string): string =>
  (text.length > 300 ? `${text.slice(0, 300)} …` : text).replaceAll(/\s+/g, " ").trim();

/** Undefined for an engine whose work cannot be followed. */
export async function lookAtWork(target: ProbedEngine, signal: AbortSignal): Promise<WorkLook | undefined> {
  const { work } = target.engine;
  if (work === undefined) return undefined;
  const limits = { timeout: HEALTH_TIMEOUT, signal };
  const answer = await target.machine.askEngine(targetOf(target), work.request(), limits);
  const count = answer.ok && answer.value.status === 200 ? work.read(answer.value.body) : undefined;
  return count === undefined ? { kind: "silent" } : { kind: "counted", ...count };
}

/** Gives it the smallest piece of work there is. No answer at all within the time is work that got lost. */
export async function tryWork(
  target: ProbedEngine,
  { clock, timeout, signal }: { readonly clock: Clock; readonly timeout: Millis; readonly signal: AbortSignal },
): Promise<WorkLook> {
  const begun = clock.monotonic();
  const outcome = await askForWork(target, { timeout, signal });
  if (outcome.kind === "worked") return outcome;
  const isLost = outcome.kind === "unanswered" && clock.monotonic() - begun >= timeout;
  return { kind: isLost ? "workLost" : "silent" };
}
