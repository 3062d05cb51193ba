import { pino } from "pino";
import { createRouterTransport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { profileName, replicaId } from "../../src/core/ids.ts";
import type { ReplicaRoute } from "../../src/core/route.ts";
import type { RoutingPolicyName } from "../../src/routing/policies.ts";
import { startRouter } from "../../src/run/router.ts";
import { RouterService } from "../../src/wire/gen/llmgw/v1/router_pb.js";
import { routeTableToWire } from "../../src/wire/routes.ts";
import { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

const REPLICAS = 3;
const CONVERSATIONS = 8;
const TURNS = 3;

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

interface Answer {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  };
}

describe("prefix affinity over three real llama-servers", () => {
  let cluster: Cluster;
  let replicas: readonly ReplicaRoute[];

  beforeAll(async () => {
    cluster = await Cluster.start();
    const args = ["-t", "1", "-np", "2"];
    await cluster.apply({ name: "tiny", model: { source: "tiny:" }, context: 4096, replicas: REPLICAS, args });
    await until(
      "three ready replicas",
      async () => {
        const ready = (await cluster.replicas("tiny")).filter(({ state }) => state === "ready");
        return ready.length === REPLICAS;
      },
      { timeoutMs: 150_000 },
    );
    replicas = await Promise.all(
      (await cluster.replicas("tiny")).map(async ({ id, pid = 0, endpoint }) => ({
        id: replicaId(id),
        host: endpoint?.host ?? "",
        port: endpoint?.port ?? 0,
        apiKey: await cluster.engineKey(pid),
        slots: 2,
      })),
    );
  });

  afterAll(async () => {
    await cluster.stop();
  });

  /** Share of all prompt tokens that the engines had in their caches. `salt`: no run finds what another has left there. */
  async function cachedShare(policy: RoutingPolicyName, salt: string): Promise<number> {
    const url = await routerWith(policy);
    let [prompt, cached] = [0, 0];
    const conversations = Array.from({ length: CONVERSATIONS }, (_, index): Message[] => [
      { role: "system", content: `${salt}${String(index % 2)}: ${"answer in few words. ".repeat(12)}` },
    ]);
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [index, messages] of conversations.entries()) {
        messages.push({ role: "user", content: `Question ${String(turn)} of guest ${String(index)}: why is that so?` });
        const body = JSON.stringify({ model: "tiny", messages, max_tokens: 4, temperature: 0 });
        const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body });
        expect(response.status).toBe(200);
        const { choices, usage } = (await response.json()) as Answer;
        messages.push({ role: "assistant", content: choices[0]?.message.content ?? "" });
        prompt += usage.prompt_tokens;
        cached += usage.prompt_tokens_details?.cached_tokens ?? 0;
      }
    }
    return cached / prompt;
  }

  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
  });

  /** A router of its own in front of the same engines. */
  async function routerWith(policy: RoutingPolicyName): Promise<string> {
    const route = { name: "tiny", profile: profileName("tiny"), created: 1, waitingFor: "", waitSeconds: 0, replicas };
    const transport = createRouterTransport(({ service }) => {
      service(RouterService, {
        async *session(_requests, { signal }) {
          yield { body: { case: "table" as const, value: routeTableToWire({ revision: 1, models: [route] }) } };
          await new Promise((resolve) => {
            signal.addEventListener("abort", resolve);
          });
        },
      });
    });
    const listen = { host: "127.0.0.1", port: 0 };
    const router = await startRouter({ listen, transport, logger: pino({ level: "silent" }), policy });
    stops.push(() => router.stop());
    await until("routes", async () => (await fetch(`${router.url}/readyz`)).ok);
    return router.url;
  }

  test("far more of the prompts is in the engines' caches than when requests take turns over the replicas", async () => {
    // With one request at a time everything is idle, and equals take turns.
    const inTurns = await cachedShare("least-in-flight", "first ");
    const byPrefix = await cachedShare("prefix-affinity", "second ");
    expect(byPrefix).toBeGreaterThan(inTurns + 0.1);
    expect(byPrefix).toBeGreaterThan(0.5);
  });
});
