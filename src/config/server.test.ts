import { describe, expect, test } from "vitest";
import { ok } from "../core/result.ts";
import { renderProblems } from "./problem.ts";
import { parseServerConfig, renderServerConfig, type ServerConfig } from "./server.ts";

const parse = (text: string): ReturnType<typeof parseServerConfig> =>
  parseServerConfig({ text, file: "server.yaml", env: { PGPASSWORD: "hush" }, readSecret: () => ok("") });

function config(text: string): ServerConfig {
  const parsed = parse(text);
  if (!parsed.ok) throw new Error(renderProblems(parsed.error));
  return parsed.value;
}

function problems(text: string): string {
  const parsed = parse(text);
  return parsed.ok ? "no problems" : renderProblems(parsed.error);
}

const DEFAULTS = {
  listen: { host: "0.0.0.0", port: 7443 },
  router: {
    listen: { host: "0.0.0.0", port: 8080 },
    auth: "keys",
    cors: [],
    policy: "prefix-affinity",
    queue: { length: 1_024, wait: 120_000, cold_wait: 300_000, headroom: 1 },
    max_body: 64 * 1024 * 1024,
    rescue: "on",
    http1: "own",
    count_streams: true,
  },
  engines: {},
  weights: { concurrency: 4, peers: true },
  nodes: { unreachable_after: 15_000, lost_after: 300_000, brake: 0.5 },
  usage: { retain: 400 * 86_400_000 },
};

const EVERYTHING = `
listen: "127.0.0.1:7443"
tls: { ca: /etc/llmgw/ca.pem, cert: /etc/llmgw/cp.pem, key: /etc/llmgw/cp-key.pem }
store: "sqlite:/srv/server.db"
public_url: "https://llmgw.example:7443"
router:
  listen: ""
  tls: { cert: /etc/llmgw/r.pem, key: /etc/llmgw/r-key.pem }
  auth: none
  cors: ["https://app.example", "http://localhost:5173"]
  policy: least-work
  queue: { length: 10, wait: 5s, cold_wait: 1m, headroom: 0 }
  max_body: 1MB
  rescue: off
  http1: node
  count_streams: false
engines:
  llama.cpp: { version: b12000, source: "https://mirror.example/llama/" }
  vllm: { version: 0.33.0, source: pypi }
  sglang: { version: 0.5.9 }
weights: { concurrency: 8, peers: false }
nodes: { unreachable_after: 30s, lost_after: 10m, brake: 0.3 }
usage: { retain: 30d }
`;

describe("server.yaml", () => {
  test("an empty file is valid", () => {
    expect(config("")).toEqual(DEFAULTS);
  });

  test("an engine that is only named has a version and a source", () => {
    expect(config("engines: { llama.cpp: {} }\n").engines).toEqual({
      "llama.cpp": { version: "b11669", source: "github" },
    });
  });

  test("every key is taken", () => {
    expect(config(EVERYTHING)).toEqual({
      listen: { host: "127.0.0.1", port: 7443 },
      tls: { ca: "/etc/llmgw/ca.pem", cert: "/etc/llmgw/cp.pem", key: "/etc/llmgw/cp-key.pem" },
      store: { kind: "sqlite", path: "/srv/server.db" },
      public_url: "https://llmgw.example:7443",
      router: {
        listen: undefined,
        tls: { cert: "/etc/llmgw/r.pem", key: "/etc/llmgw/r-key.pem" },
        auth: "none",
        cors: ["https://app.example", "http://localhost:5173"],
        policy: "least-work",
        queue: { length: 10, wait: 5_000, cold_wait: 60_000, headroom: 0 },
        max_body: 1_000_000,
        rescue: "off",
        http1: "node",
        count_streams: false,
      },
      engines: {
        "llama.cpp": { version: "b12000", source: "https://mirror.example/llama" },
        vllm: { version: "0.33.0", source: "pypi" },
        sglang: { version: "0.5.9", source: "pypi" },
      },
      weights: { concurrency: 8, peers: false },
      nodes: { unreachable_after: 30_000, lost_after: 600_000, brake: 0.3 },
      usage: { retain: 30 * 86_400_000 },
    });
  });

  test.each(["", EVERYTHING, 'router: { listen: "127.0.0.1:0" }\n'])(
    "what is in force is a file that says the same: %j",
    (text) => {
      expect(config(renderServerConfig(config(text)))).toEqual(config(text));
    },
  );

  test("the password of a database is not shown", () => {
    const parsed = config("store: postgres://me:${PGPASSWORD}@db.example/llmgw\n");
    expect(parsed.store).toEqual({ kind: "postgres", url: "postgres://me:hush@db.example/llmgw" });
    expect(renderServerConfig(parsed)).not.toContain("hush");
    expect(renderServerConfig(config("store: postgres://db/llmgw?password=hush\n"))).not.toContain("hush");
    expect(problems("store: postgresx://me:hush@db/llmgw\n")).not.toContain("hush");
  });

  test.each([
    ["pypi", "pypi"],
    ["https://mirror.example/simple/", "https://mirror.example/simple"],
    ["https://mirror.example/{backend}/simple", "https://mirror.example/{backend}/simple"],
    ["/srv/wheels/{backend}", "/srv/wheels/{backend}"],
    ["file:///srv/wheels", "file:///srv/wheels"],
  ])("engines of Python come from %s", (written, source) => {
    const { engines } = config(`engines: { vllm: { version: 0.33.0, source: "${written}" } }\n`);
    expect(engines["vllm"]).toEqual({ version: "0.33.0", source });
  });

  test.each([
    ['router: { listen: "127.0.0.1:8080" }', "none"],
    ['router: { listen: "[::1]:8080" }', "none"],
    ['router: { listen: "localhost:8080" }', "none"],
    ['router: { listen: "0.0.0.0:8080" }', "keys"],
    ['router: { listen: "8080" }', "keys"],
    ['router: { listen: "0.0.0.0:8080", auth: none }', "none"],
    ['router: { listen: "127.0.0.1:8080", auth: keys }', "keys"],
  ])("without keys only this machine may ask, unless it is spelled out: %s", (text, want) => {
    expect(config(`${text}\n`).router.auth).toBe(want);
  });

  test.each([
    ["listen: 8080\n", "router.listen takes the port of listen"],
    ['listen: "127.0.0.1:8080"\n', "router.listen takes the port of listen"],
    ["nodes: { unreachable_after: 10m }\n", "nodes.lost_after (5m) must be longer than nodes.unreachable_after (10m)"],
    ["nodes: { brake: 1.5 }\n", "nodes.brake must be a number from 0 to 1, but is 1.5"],
    [
      "public_url: http://x:1\ntls: {ca: /a, cert: /b, key: /c}\n",
      "public_url is http://x:1, but with tls the port speaks https; write https://x:1",
    ],
    ["public_url: x:1\n", "public_url must be an http:// or https:// address"],
    ["store: server.db\n", "store must be sqlite:/PATH or postgres://USER@HOST/DATABASE"],
    ["store: sqlite:server.db\n", "store needs an absolute path"],
    [
      "engines: { llama.cpp: { version: 11669 } }\n",
      "engines.llama.cpp.version must be a build such as b11669, but is 11669",
    ],
    [
      "engines: { llama.cpp: { source: gitlab } }\n",
      "engines.llama.cpp.source must be github, debian or the base URL of a mirror",
    ],
    ["engines: { vllm: { source: pypi } }\n", "engines.vllm.version is missing"],
    [
      "engines: { vllm: { version: 0.33.0, source: wheels } }\n",
      "engines.vllm.source must be pypi, the address of a mirror's index or the folder of wheels on the nodes",
    ],
    [
      "engines: { llama.cpp: { source: /srv/builds } }\n",
      "engines.llama.cpp.source must be github, debian or the base URL of a mirror",
    ],
    ["engines: { ollama: { version: 1 } }\n", "engines.ollama is not a known key"],
    ["router: { auth: key }\n", 'router.auth must be one of keys, none, but is "key"; did you mean keys?'],
    ['router: { cors: ["https://app.example/"] }\n', "router.cors[0] must be an origin such as https://app.example"],
    ["router: { policy: least-wrok }\n", "did you mean least-work?"],
    ["weights: { concurrency: 0 }\n", "weights.concurrency must be a whole number from 1 to 64, but is 0"],
    ["listen: ''\n", "listen must be an address with a port"],
    ['listen: "::1:8000"\n', "listen must be an address with a port"],
    ["auth: none\n", "auth is not a known key; auth belongs under router"],
  ])("%j is refused with the reason", (text, want) => {
    expect(problems(text)).toContain(want);
  });

  test("two ports are two ports", () => {
    expect(problems('listen: "127.0.0.1:8080"\nrouter: { listen: "127.0.0.2:8080" }\n')).toBe("no problems");
    expect(problems('listen: "127.0.0.1:0"\nrouter: { listen: "127.0.0.1:0" }\n')).toBe("no problems");
  });
});
