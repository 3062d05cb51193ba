import { join } from "node:path";
import { expect } from "vitest";
import type { ObservedReplicaState } from "../../src/core/observed.ts";
import { agent, SMOL, site, soon, states, stops } from "../contract/callers.ts";
import { overSockets, type Site } from "../contract/site.ts";
import type { RawUpstream } from "./raw-upstream.ts";
import type { ScriptedAgent } from "./scripted-agent.ts";

/** A control plane with one ready replica of smol at the engine, a client's key and a router's token. */
export async function served(
  folder: string,
  engine: RawUpstream,
  limits: { readonly concurrency?: number } = {},
): Promise<{
  readonly on: Site;
  readonly url: string;
  readonly key: string;
  readonly token: string;
  readonly node: ScriptedAgent;
  readonly id: string;
}> {
  stops.push(() => engine.stop());
  const on = await site(overSockets, { dataDir: join(folder, "server") });
  const { secret: key } = await on.admin.createKey({ name: "app", limits });
  const { secret: token } = await on.admin.createToken({
    ttlSeconds: 600,
    grant: { case: "user", value: { name: "edge", role: "router" } },
  });
  await on.admin.apply({ manifest: SMOL });
  const node = agent(on, { node: "n1" });
  await expect.poll(() => node.desired?.replicas.length, soon).toBe(1);
  const ready: ObservedReplicaState = {
    kind: "ready",
    endpoint: { host: "127.0.0.1", port: engine.port },
    slots: 16,
    context: 4096,
    engine: "llama.cpp b1",
  };
  node.observe(() => ready);
  await expect.poll(() => states(on), soon).toEqual(["ready"]);
  return { on, url: on.url ?? "", key, token, node, id: node.desired?.replicas[0]?.id ?? "" };
}
