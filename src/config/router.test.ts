import { describe, expect, test } from "vitest";
import { ok } from "../core/result.ts";
import { renderProblems } from "./problem.ts";
import { parseRouterConfig, renderRouterConfig, type RouterConfig } from "./router.ts";

const parse = (text: string): ReturnType<typeof parseRouterConfig> =>
  parseRouterConfig({ text, file: "router.yaml", env: {}, readSecret: () => ok("llmgw-user-0123456789abcdefghij") });

function config(text: string): RouterConfig {
  const parsed = parse(text);
  if (!parsed.ok) throw new Error(renderProblems(parsed.error));
  return parsed.value;
}

function problems(text: string): string {
  const parsed = parse(text);
  return parsed.ok ? "no problems" : renderProblems(parsed.error);
}

const EVERYTHING = `
servers: ["https://a.example:7443", "https://b.example:7443"]
server_tls: { ca: /etc/llmgw/ca.pem, cert: /etc/llmgw/router.pem, key: /etc/llmgw/router-key.pem }
token: "file:/etc/llmgw/token"
listen: "0.0.0.0:443"
tls: { cert: /etc/llmgw/r.pem, key: /etc/llmgw/r-key.pem }
auth: keys
cors: ["*"]
policy: least-work
queue: { length: 10, wait: 5s, cold_wait: 1m, headroom: 0 }
max_body: 200MiB
rescue: off
http1: node
count_streams: false
workers: 4
state_dir: /srv/router
metrics_listen: ""
drain: 5m
`;

describe("router.yaml", () => {
  test("one address is enough", () => {
    expect(config("servers: [http://127.0.0.1:7443]")).toEqual({
      servers: ["http://127.0.0.1:7443"],
      listen: { host: "0.0.0.0", port: 8080 },
      auth: "keys",
      cors: [],
      policy: "prefix-affinity",
      queue: { length: 1_024, wait: 120_000, cold_wait: 300_000, headroom: 1 },
      max_body: 64 * 1024 * 1024,
      rescue: "on",
      http1: "own",
      count_streams: true,
      workers: 1,
      metrics_listen: { host: "127.0.0.1", port: 7446 },
      drain: 30_000,
    });
  });

  test("what is in force reads as it was written, and shows no secret", () => {
    const all = config(EVERYTHING);
    const shown = renderRouterConfig(all);
    expect(shown).toContain('token: "[hidden]"');
    expect(shown).not.toContain("llmgw-user-");
    expect(config(shown)).toEqual({ ...all, token: "[hidden]" });
  });

  test.each([
    { listen: "127.0.0.1:8080", auth: "none" },
    { listen: "0.0.0.0:8080", auth: "keys" },
  ])("on $listen clients need: $auth", ({ listen, auth }) => {
    expect(config(`servers: [http://h:7443]\nlisten: "${listen}"`).auth).toBe(auth);
  });

  test.each([
    { text: "", says: /servers is missing/ },
    { text: "servers: []", says: /servers must not be an empty list/ },
    { text: "servers: [h:7443]", says: /did you mean https:\/\/h:7443/ },
    { text: "servers: [http://h:7443, http://H:7443]", says: /servers names http:\/\/h:7443 twice/ },
    {
      text: "servers: [http://h:7443]\nserver_tls: { cert: /a, key: /b }",
      says: /servers has http:\/\/h:7443, but server_tls/,
    },
    { text: "servers: [http://h:7443]\nworkers: 0", says: /workers must be a whole number from 1 to 64/ },
    { text: "servers: [http://h:7443]\nworker: 2", says: /did you mean workers/ },
    { text: "servers: [http://h:7443]\nstate_dir: var", says: /state_dir must be an absolute path/ },
    { text: 'servers: [http://h:7443]\nlisten: ""', says: /listen must be an address/ },
    { text: "servers: [http://h:7443]\nmetrics_listen: 8080", says: /metrics_listen takes the port of listen/ },
  ])("$text", ({ text, says }) => {
    expect(problems(text)).toMatch(says);
  });
});
