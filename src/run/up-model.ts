import { LlmgwError } from "../core/errors.ts";
import type { Clock } from "../platform/clock.ts";
import type { Replica } from "../wire/gen/llmgw/v1/admin_pb.js";
import type { AdminClient } from "./client.ts";
import { followProfile } from "./follow-profile.ts";
import { whyNotOnHub } from "./hub-probe.ts";
import { BUILT_IN, SAMPLE_NAME, sampleSources } from "./sample.ts";

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
    const failed = await outcome(serving, kept.name);
    if (failed !== undefined) throw new LlmgwError("FAILED", `${kept.name} (${kept.source}) failed: ${failed.reason}`);
    return kept.serves[0] ?? kept.name;
  }
  await serveSample(serving, sample?.source);
  return SAMPLE_NAME;
}

async function serveNamed(serving: Serving, named: NamedModel, isNew: boolean): Promise<void> {
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
  for (const source of sampleSources(stored)) {
    // What was fetched before needs no source that can be reached.
    const unreachable = source === stored ? undefined : await whyNotOnHub(source, serving.env);
    if (serving.signal.aborted) return;
    if (unreachable !== undefined) {
      tried.push(`${source} (${unreachable})`);
      serving.tell({ kind: "notice", text: `Not from the Hub: ${unreachable}.` });
      continue;
    }
    if (source === BUILT_IN) serving.tell({ kind: "notice", text: noiseNotice(tried) });
    await apply(serving, { name: SAMPLE_NAME, source });
    const failed = await outcome(serving, SAMPLE_NAME);
    if (failed === undefined) return;
    await refuseWithoutEngine(serving, failed);
    tried.push(`${source} (${failed.reason})`);
    if (source !== BUILT_IN) serving.tell({ kind: "notice", text: `${source} failed: ${failed.reason}` });
  }
  throw new LlmgwError("FAILED", `No model can be served. Tried: ${tried.join("; ")}`);
}

const noiseNotice = (tried: readonly string[]): string =>
  `No source of the sample model can be reached, so the built-in tiny model answers, and what it answers is noise. ` +
  `Tried: ${tried.join("; ")}. Name a model with \`llmgw up --model SOURCE\`, such as --model file:/path/to/model.gguf.`;

/** Another source would not help where there is nothing to run it with. */
async function refuseWithoutEngine({ client }: Serving, failed: Replica): Promise<void> {
  const { nodes } = await client.listNodes({});
  if (nodes.some((node) => (node.inventory?.engines.length ?? 0) > 0)) return;
  throw new LlmgwError("FAILED", `No engine can be had on this machine: ${failed.reason}`);
}

async function apply({ client }: Serving, { name, source }: NamedModel): Promise<void> {
  const manifest = JSON.stringify({ kind: "Profile", name, model: { source } });
  await client.apply({ manifest, fileName: "llmgw up" });
}

/** Waits until the profile answers or has failed for good; undefined: it answers, or the start was called off. */
async function outcome({ client, clock, signal, tell }: Serving, name: string): Promise<Replica | undefined> {
  for await (const look of followProfile(client, name, { clock, signal })) {
    if (look.kind === "ready") return undefined;
    if (look.kind === "gone") throw new LlmgwError("NOT_FOUND", `The profile "${name}" was deleted while it started.`);
    tell({ kind: "replicas", replicas: look.replicas });
    if (look.kind === "failed") return look.failed;
  }
  return undefined;
}
