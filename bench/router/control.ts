import { createHash, randomBytes } from "node:crypto";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { KEY_PREFIX, type KeyGrant, type KeyLimits } from "../../src/core/client-key.ts";
import { millis, profileName, replicaId } from "../../src/core/ids.ts";
import type { ModelRoute } from "../../src/core/route.ts";
import { llamacpp } from "../../src/engines/llamacpp/index.ts";
import { listen, type Listening } from "../../src/platform/listen.ts";
import { RouterService } from "../../src/wire/gen/llmgw/v1/router_pb.js";
import { keySetToWire } from "../../src/wire/keys.ts";
import { routeTableToWire } from "../../src/wire/routes.ts";
import { sharesToWire } from "../../src/wire/shares.ts";

/** What a router is given. */
export interface Fleet {
  readonly model: string;
  readonly enginePort: number;
  readonly replicas: number;
  readonly keys: readonly string[];
}

/** Every limit there is, so high that none refuses: each is checked and counted. */
const LIMITS: KeyLimits = {
  requestsPerMinute: 1e9,
  tokensPerMinute: 1e12,
  concurrency: 1e6,
  tokensPerDay: 1e14,
  tokensPerMonth: 1e15,
};
const SLOTS = 2_048;
const LEASE_MS = 15_000;

export const newKeys = (count: number): readonly string[] =>
  Array.from({ length: count }, () => KEY_PREFIX + randomBytes(24).toString("base64url"));

/** Gives out routes, keys and shares of their limits, and takes all usage, as a control plane does. */
export function startControl(fleet: Fleet): Promise<Listening> {
  const table = routeTableToWire({ revision: 1, models: [modelOf(fleet)] });
  const grants = fleet.keys.map(grantOf);
  const keys = keySetToWire({ revision: 1, keys: grants, shared: true });
  const everyShare = grants.map(({ id }) => sharesToWire(id, LIMITS));
  const handler = connectNodeAdapter({
    routes: ({ service }) => {
      service(RouterService, {
        async *session(requests) {
          yield { body: { case: "table" as const, value: table } };
          yield { body: { case: "keys" as const, value: keys } };
          let revision = 0;
          for await (const { body } of requests) {
            if (body.case === "usage") {
              const { instance, lines } = body.value;
              yield { body: { case: "usageAck" as const, value: { instance, through: lastNumber(lines) } } };
            } else if (body.case === "demand") {
              revision += 1;
              const value = { revision, routers: 1, leaseMs: LEASE_MS, keys: revision === 1 ? everyShare : [] };
              yield { body: { case: "shares" as const, value } };
            }
          }
        },
      });
    },
  });
  return listen({ host: "127.0.0.1", port: 0, tls: undefined, handler });
}

const modelOf = ({ model, enginePort, replicas }: Fleet): ModelRoute => ({
  name: model,
  profile: profileName(model),
  created: 1_700_000_000,
  waitingFor: "",
  waitSeconds: 0,
  replicas: Array.from({ length: replicas }, (_, n) => ({
    id: replicaId(`${model}-${String(n)}`),
    host: "127.0.0.1",
    port: enginePort,
    apiKey: `ek-${String(n)}`,
    slots: SLOTS,
    // A stream is kept only for engines that could go on with it.
    apis: llamacpp.apis ?? [],
  })),
});

const grantOf = (key: string, n: number): KeyGrant => ({
  id: `key-${String(n)}`,
  name: `bench-${String(n)}`,
  sha256: createHash("sha256").update(key).digest("hex"),
  models: ["m", "other"],
  limits: LIMITS,
  expiresAt: millis(4_000_000_000_000),
});

/** The last record in a batch of usage. */
const lastNumber = (lines: string): bigint =>
  BigInt(/"number":(\d+)/.exec(lines.slice(lines.lastIndexOf("\n") + 1))?.[1] ?? 0);
