import { describe, expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { err, ok } from "../../core/result.ts";
import type { Upstream } from "../../core/upstream.ts";
import { upstreamRoutes } from "./routes.ts";

const cloud: Upstream = { name: "cloud", url: "https://api.example", models: [{ name: "big", remote: "big" }] };
const stored = (upstream: Upstream) => ({ upstream, createdAt: millis(7_000), updatedAt: millis(9_000) });
const routes = (change: Partial<Upstream> = {}) =>
  upstreamRoutes([stored({ ...cloud, ...change })], () => ok({ key: "sk", ca: "PEM" }));

test("each model leads to the endpoint in the place of a replica", () => {
  const models = [
    { name: "big", remote: "big" },
    { name: "small", remote: "org/Small-1" },
  ];
  expect(routes({ models, concurrency: 4 })).toEqual(
    ["big", "small"].map((name) => ({
      ...{ name, profile: "upstream/cloud", created: 7, waitingFor: "", waitSeconds: 0 },
      ...(name === "small" ? { engineModel: "org/Small-1" } : {}),
      replicas: [
        {
          ...{ id: "upstream/cloud", host: "api.example", port: 443, apiKey: "sk", slots: 4 },
          upstream: { base: "/v1", tls: true, ca: "PEM" },
        },
      ],
    })),
  );
});

describe("an address", () => {
  test.each([
    ["http://10.0.0.1:8000", { host: "10.0.0.1", port: 8000 }, { base: "/v1", tls: false }],
    ["http://x", { host: "x", port: 80 }, { base: "/v1", tls: false }],
    ["https://x/api/v1", { host: "x", port: 443 }, { base: "/api/v1", tls: true }],
    ["https://x/openai/", { host: "x", port: 443 }, { base: "/openai", tls: true }],
    ["https://[::1]:8443/v1", { host: "::1", port: 8443 }, { base: "/v1", tls: true }],
    ["HTTPS://X.Example", { host: "x.example", port: 443 }, { base: "/v1", tls: true }],
  ])("%s", (url, address, upstream) => {
    expect(routes({ url })[0]?.replicas).toMatchObject([{ ...address, upstream }]);
  });
});

test("without its files there is nobody to ask, and clients are not told where files lie", () => {
  const [route] = upstreamRoutes([stored(cloud)], () => err("there is no file /secret/place"));
  expect(route).toMatchObject({ replicas: [], waitingFor: "a file that the upstream cloud needs cannot be used" });
});
