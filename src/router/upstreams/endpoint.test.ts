import { expect, test } from "vitest";
import { replicaId } from "../../core/ids.ts";
import type { ReplicaRoute } from "../../core/route.ts";
import { addressOf, hostOf, targetAt } from "./endpoint.ts";

test.each([
  ["/v1", "/v1/chat/completions?a=/v1/", "/v1/chat/completions?a=/v1/"],
  ["/api/v1", "/v1/models", "/api/v1/models"],
  ["/v1beta/openai", "/v1/embeddings", "/v1beta/openai/embeddings"],
  ["/v1", "/tokenize", "/tokenize"],
  ["/api/v1", "/tokenize", "/api/tokenize"],
  ["/llm", "/tokenize", "/llm/tokenize"],
])("at %s %s is %s", (base, asked, want) => {
  expect(targetAt({ base, tls: true, ca: "" }, asked)).toBe(want);
});

const route = (host: string, port: number, tls?: boolean): ReplicaRoute => ({
  ...{ id: replicaId("r"), host, port, apiKey: "", slots: 0 },
  ...(tls === undefined ? {} : { upstream: { base: "/v1", tls, ca: "PEM" } }),
});

test.each([
  [route("api.example", 443, true), "api.example"],
  [route("api.example", 80, true), "api.example:80"],
  [route("api.example", 80, false), "api.example"],
  [route("::1", 8443, true), "[::1]:8443"],
  [route("10.0.0.1", 80), "10.0.0.1:80"],
])("the Host header names a port that does not go without saying: %#", (of, want) => {
  expect(hostOf(of)).toBe(want);
});

test("an engine is known by its certificate, an endpoint elsewhere by its name", () => {
  expect(addressOf(route("h", 1, true))).toEqual({ host: "h", port: 1, tlsCa: "PEM" });
  expect(addressOf(route("h", 1, false))).toEqual({ host: "h", port: 1 });
  expect(addressOf({ ...route("h", 1), tlsSha256: "ab" })).toEqual({ host: "h", port: 1, tlsSha256: "ab" });
});
