import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import type { ObservedReplicaState } from "../../src/core/observed.ts";
import type { Replica } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { ScriptedAgent, type ScriptedAgentOptions } from "../fakes/scripted-agent.ts";
import { ScriptedRouter } from "../fakes/scripted-router.ts";
import { inProcess, overSockets, type Site, type SiteOptions } from "./site.ts";

/** What a test has started: stopped after it, the last one first. */
export const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  // One that cannot be stopped is no reason to leave the others there.
  const failures: unknown[] = [];
  for (const stop of stops.splice(0).reverse()) await stop().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
});

/** A folder of the test's own, removed when all that the test has started was stopped. */
export async function ownFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `llmgw-${name}-`));
  stops.unshift(() => rm(folder, { recursive: true }));
  return folder;
}

export const SMOL = "kind: Profile\nname: smol\nserves: [smol, default]\nmodel: { source: hf:a/b }\n";
export const READY: ObservedReplicaState = {
  kind: "ready",
  endpoint: { host: "127.0.0.1", port: 41_000 },
  slots: 4,
  context: 4096,
  engine: "llama.cpp b1",
};

export const WAYS = { "in one process": inProcess, "over sockets": overSockets };

export async function site(start: (options?: SiteOptions) => Promise<Site>, options?: SiteOptions): Promise<Site> {
  const running = await start(options);
  stops.push(() => running.stop());
  return running;
}

export function agent(on: Site, options: ScriptedAgentOptions): ScriptedAgent {
  const joined = new ScriptedAgent(on.connect(), options).beatEvery(100);
  stops.push(() => joined.drop());
  return joined;
}

export function router(on: Site, id = "router-1"): ScriptedRouter {
  const joined = new ScriptedRouter(on.connect(), id, { authorization: `Bearer ${on.token}` });
  stops.push(() => joined.drop());
  return joined;
}

export const replicas = async ({ admin }: Site): Promise<readonly Replica[]> => (await admin.listReplicas({})).replicas;
export const states = async (on: Site): Promise<readonly string[]> => (await replicas(on)).map(({ state }) => state);
export const nodeStates = async ({ admin }: Site) =>
  Object.fromEntries((await admin.listNodes({})).nodes.map(({ id, state }) => [id, state]));
export const reasons = async ({ admin }: Site, subject = "") =>
  (await admin.listEvents({ subject })).events.map(({ reason }) => reason);
export const soon = { timeout: 8_000, interval: 20 };

/** A profile that serves on one node. */
export async function serving(on: Site, node = "n1"): Promise<{ agent: ScriptedAgent; id: string }> {
  await on.admin.apply({ manifest: SMOL });
  const joined = agent(on, { node });
  await expect.poll(() => joined.desired?.replicas.length, soon).toBe(1);
  joined.observe(() => READY);
  await expect.poll(() => states(on), soon).toEqual(["ready"]);
  return { agent: joined, id: joined.desired?.replicas[0]?.id ?? "" };
}

/** The one that there should be. */
export function only<T>(list: readonly T[] | undefined): T {
  const [one] = list ?? [];
  if (one === undefined || list?.length !== 1) throw new Error(`expected one, got ${String(list?.length)}`);
  return one;
}
