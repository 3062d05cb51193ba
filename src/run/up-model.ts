import { LlmgwError } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import type { Replica } from "../wire/gen/llmgw/v1/admin_pb.js";
import type { AdminClient } from "./client.ts";
import { followProfile } from "./follow-profile.ts";
import { BUILT_IN, SAMPLE_NAME, sampleSources } from "./sample.ts";
import { whyNotThere } from "./source-probe.ts";

/** What a person at the terminal is to see. */
export type UpNews =
  | { readonly kind: "notice"; readonly text: string }
  | { readonly kind: "replicas"; readonly replicas: readonly Replica[] };

/** A model that was named with --model. */
export interface NamedModel {
  readonly name: string;
  readonly source: string;
}

interface Serving {
  readonly client: AdminClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly tell: (news: UpNews) => void;
  /** Whether an engine answers for this name that clients ask for. */
  readonly answers: (model: string) => Promise<boolean>;
}

/** Serves the named model, or what an earlier start has left, or the sample. Resolves with the name that answers. */
export async function serveModel(serving: Serving, named: NamedModel | undefined): Promise<string> {
  const { profiles } = await serving.client.listProfiles({});
  if (named !== undefined) {
    const isNew = !profiles.some((profile) => profile.name === named.name);
    await serveNamed(serving, named, isNew);
    return named.name;
  }
  const sample = profiles.find((profile) => profile.name === SAMPLE_NAME);
  const [kept] = profiles;
  if (sample === undefined && kept !== undefined) {
    const failed = await outcome(serving, kept.name, { serves: kept.serves[0] });
    if (failed !== undefined) throw new LlmgwError("FAILED", `${kept.name} (${kept.source}) failed: ${failed.reason}`);
    return kept.serves[0] ?? kept.name;
  }
  await serveSample(serving, sample?.source);
  return SAMPLE_NAME;
}

async function serveNamed(serving: Serving, named: NamedModel, isNew: boolean): Promise<void> {
  const held = await heldSources(serving);
  const why = held.has(named.source) ? undefined : await whyNotThere(named.source, serving);
  if (serving.signal.aborted) return;
  if (why !== undefined) throw new LlmgwError("FAILED", `${named.source} cannot be served: ${why}`);
  await apply(serving, named);
  const failed = await outcome(serving, named.name);
  if (failed === undefined) return;
  // A profile that never answered would fail again with every start.
  if (isNew) await serving.client.delete({ kind: "Profile", name: named.name });
  const output = failed.lastLines.length === 0 ? "" : `\nThe engine's last lines:\n  ${failed.lastLines.join("\n  ")}`;
  throw new LlmgwError("FAILED", `${named.source} cannot be served: ${failed.reason}${output}`);
}

/** One source after the other, until one answers. */
async function serveSample(serving: Serving, stored: string | undefined): Promise<void> {
  const tried: string[] = [];
  const held = await heldSources(serving);
  for (const source of sampleSources(stored)) {
    if (serving.signal.aborted) return;
    if (source === BUILT_IN) serving.tell({ kind: "notice", text: noiseNotice(tried) });
    const why = await trySample(serving, source, held.has(source));
    if (why === undefined) return;
    tried.push(source);
    // What a source says of itself begins with its name in a shorter form.
    const reason = why.replace(/^(hf|pypi):\S+: /, "");
    serving.tell({ kind: "notice", text: `The sample model cannot be had from ${source}: ${reason}` });
  }
  throw new LlmgwError("FAILED", `No model can be served; tried ${tried.join(" and ")}.`);
}

/** Undefined: it answers, or the start was called off. Otherwise why this source is of no use. */
async function trySample(serving: Serving, source: string, isHeld: boolean): Promise<string | undefined> {
  // What was fetched before needs no source that can be reached.
  const unreachable = isHeld ? undefined : await whyNotThere(source, serving);
  if (unreachable !== undefined || serving.signal.aborted) return unreachable;
  await apply(serving, { name: SAMPLE_NAME, source });
  const failed = await outcome(serving, SAMPLE_NAME, { stall: new Stall(serving.clock) });
  if (failed === undefined) return undefined;
  await refuseWithoutEngine(serving, failed);
  return failed.reason;
}

/** What the node's disk has, once the node has joined. */
async function heldSources({ client, clock, signal }: Serving): Promise<ReadonlySet<string>> {
  while (!signal.aborted) {
    const { nodes } = await client.listNodes({}, { signal });
    const joined = nodes.filter((node) => node.inventory !== undefined);
    if (joined.length > 0) {
      return new Set(joined.flatMap((node) => (node.inventory?.weights ?? []).map((model) => model.source)));
    }
    await pause(clock, millis(100), signal);
  }
  return new Set();
}

const noiseNotice = (tried: readonly string[]): string =>
  `The built-in tiny model is served, and it answers noise, because the sample model could not be had from ` +
  `${tried.join(" or ")}; name a model that you have with \`llmgw up --model SOURCE\`, such as --model file:/path/to/model.gguf.`;

/** Another source would not help where there is nothing to run it with. */
async function refuseWithoutEngine(serving: Serving, failed: Replica): Promise<void> {
  if (await hasEngine(serving)) return;
  throw new LlmgwError("FAILED", `No engine can be had on this machine: ${failed.reason}`);
}

async function apply({ client }: Serving, { name, source }: NamedModel): Promise<void> {
  const manifest = JSON.stringify({ kind: "Profile", name, model: { source } });
  await client.apply({ manifest, fileName: "llmgw up" });
}

/** A source that answers and then sends nothing for so long is given up for the next one. */
const PATIENCE_MS = 60_000;

/** Tells a download that stands still from one that is slow. */
class Stall {
  readonly #clock: Clock;
  #most = 0;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Whether nothing has come for too long. Only a download counts: an engine may take its time to start. */
  isOver(replicas: readonly Replica[]): boolean {
    const now = this.#clock.monotonic();
    const fetching = replicas.filter((replica) => replica.state === "preparing");
    const done = Math.max(0, ...fetching.map((replica) => replica.progress?.bytesDone ?? 0));
    if (fetching.length === 0 || done > this.#most) {
      this.#most = done;
      this.#since = now;
    }
    return now - this.#since > PATIENCE_MS;
  }
}

interface Waiting {
  /** The name that clients ask for, when it is not the profile's. */
  readonly serves?: string | undefined;
  readonly stall?: Stall;
}

/**
 * Waits until the profile answers or has failed for good; undefined: it answers, or the start was called off. Ready alone
 * is not enough: right after a start it is what the control plane remembers, and the node has not been heard yet.
 */
async function outcome(serving: Serving, name: string, waiting: Waiting = {}): Promise<Replica | undefined> {
  const { client, clock, signal, tell, answers } = serving;
  for await (const look of followProfile(client, name, { clock, signal })) {
    if (look.kind === "gone") throw new LlmgwError("NOT_FOUND", `The profile "${name}" was deleted while it started.`);
    if (look.kind === "ready" && (await answers(waiting.serves ?? name))) return undefined;
    tell({ kind: "replicas", replicas: look.replicas });
    if (look.kind === "failed") return look.failed;
    if (await isStuck(serving, look.replicas, waiting)) return look.replicas[0];
  }
  return undefined;
}

async function isStuck(serving: Serving, replicas: readonly Replica[], { stall }: Waiting): Promise<boolean> {
  return stall?.isOver(replicas) === true && (await hasEngine(serving));
}

/** Without an engine it is the engine that is waited for, and another source would not help. */
async function hasEngine({ client, signal }: Serving): Promise<boolean> {
  const { nodes } = await client.listNodes({}, { signal });
  return nodes.some((node) => (node.inventory?.engines.length ?? 0) > 0);
}
