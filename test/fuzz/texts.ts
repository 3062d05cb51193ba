import { ok } from "../../src/core/result.ts";
import { parseAgentConfig, renderAgentConfig } from "../../src/config/agent.ts";
import { parseContexts } from "../../src/config/contexts.ts";
import { parseManifest } from "../../src/config/manifest.ts";
import { type ConfigProblem, renderProblems } from "../../src/config/problem.ts";
import { parseRouterConfig, renderRouterConfig } from "../../src/config/router.ts";
import { parseServerConfig, renderServerConfig } from "../../src/config/server.ts";
import type { Result } from "../../src/core/result.ts";
import type { Chance } from "./chance.ts";
import { mutatedBytes, mutatedText } from "./mutate.ts";
import { pureTarget } from "./target.ts";

const around = { file: "x", env: { HOME: "/root", A: "1" }, readSecret: () => ok("a-secret-of-the-test") };

interface Kind {
  readonly text: string;
  readonly read: (text: string | Uint8Array) => Result<unknown, readonly ConfigProblem[]>;
}

/** Reads, and writes what is in force: that is shown to people as well. */
const shown =
  <T>(read: (text: string | Uint8Array) => Result<T, readonly ConfigProblem[]>, render: (value: T) => string) =>
  (text: string | Uint8Array) => {
    const answer = read(text);
    if (answer.ok) render(answer.value);
    return answer;
  };

const KINDS: readonly Kind[] = [
  {
    text: [
      'server: ["https://a.example:7443", http://b:1]',
      "node_id: node-a",
      "mgmt_addr: 10.0.0.1",
      "labels: { rack: r1 }",
      "tls: { ca: /a.pem, cert: /b.pem, key: /c.pem }",
      "fabrics:",
      "  - name: ib",
      "    hcas: [mlx5_0, mlx5_1]",
      "heartbeat_interval: 1s",
      'engine_ports: "41000-41999"',
      "engine_tls: true",
      "engines: { llama.cpp: { bin: /x } }",
      "supervisor: { health_interval: 500ms, stop_timeout: 10s }",
    ].join("\n"),
    read: shown((text) => parseAgentConfig({ ...around, text }), renderAgentConfig),
  },
  {
    text: [
      'listen: "0.0.0.0:7443"',
      "public_url: https://a.example:7443",
      "tls: { ca: /a.pem, cert: /b.pem, key: /c.pem }",
      'router: { listen: "127.0.0.1:8080", auth: keys, cors: ["https://x.example"] }',
      "store: sqlite:/var/lib/x.db",
      'engines: { llama.cpp: { version: b1, source: "https://bob:file:/x@mirror.example/l" } }',
      "nodes: { lost_after: 5m }",
      "usage: { retain: 30d }",
    ].join("\n"),
    read: shown((text) => parseServerConfig({ ...around, text }), renderServerConfig),
  },
  {
    text: [
      'listen: "127.0.0.1:8080"',
      "server: [https://a.example:7443]",
      "token: file:/run/secret",
      "auth: keys",
      "policy: prefix-affinity",
      "tls: { cert: /b.pem, key: /c.pem }",
    ].join("\n"),
    read: shown((text) => parseRouterConfig({ ...around, text }), renderRouterConfig),
  },
  {
    text: [
      "kind: Profile",
      "name: smol",
      "serves: [smol, default]",
      "model: { source: hf:a/b }",
      "engine: llama.cpp",
      "replicas: { min: 0, max: 4 }",
      'args: ["--ctx-size", "4096"]',
      "env: { HF_TOKEN: ${A} }",
      "resources: { gpus: 2, memory: 10GiB }",
      "placement: { labels: { rack: r1 } }",
      "---",
      "kind: Alias",
      "name: gpt-4",
      "targets: [{ profile: smol, weight: 1 }]",
      "fallback: [cloud/gpt-4o]",
      "---",
      "kind: Upstream",
      "name: cloud",
      "url: https://api.example/v1",
      "api_key: file:/etc/key",
      "models: { gpt-4o: big }",
    ].join("\n"),
    read: (text) => parseManifest(text, "x"),
  },
];

const PIECES = [
  ..."\t|  |\n|- |: |{|}|[|]|&a |*a|<<: |${A}|${B|'|\"|>|---\n|%YAML 1.1\n|!x |!!binary |null|~|-1|1e999|0x10|.inf".split(
    "|",
  ),
  ..."__proto__|constructor|toString|\u0000|\uFEFF|# |\r|? |5 seconds|é|𝄞|\ud800|file:/x|file:|10GiB|1h|::1|[::]:1".split(
    "|",
  ),
  "|",
  "a: &a [*a, *a]\n",
];

function mustAnswer(text: string | Uint8Array, { read }: Kind): void {
  const answer = read(text);
  if (answer.ok) return;
  const lines = typeof text === "string" ? text.split(/\r\n?|\n/).length : text.length + 1;
  const isPlaced = ({ line, column, message }: ConfigProblem): boolean =>
    line >= 1 && line <= lines + 1 && column >= 1 && message !== "";
  if (answer.error.length === 0) throw new Error("it is refused and no problem is named");
  const lost = answer.error.find((problem) => !isPlaced(problem));
  if (lost !== undefined) throw new Error(`a problem is nowhere in the text: ${JSON.stringify(lost)}`);
  renderProblems(answer.error);
}

/** agent.yaml, server.yaml, router.yaml and manifests; each kind's text is shown to every reader now and then. */
export const configTarget = pureTarget("configuration", (chance: Chance) => {
  const kind = chance.pick(KINDS);
  const reader = chance.is(0.1) ? chance.pick(KINDS) : kind;
  const changed = mutatedText(chance, kind.text, PIECES);
  const way = chance.random();
  if (way < 0.8) mustAnswer(changed, reader);
  else if (way < 0.95) mustAnswer(mutatedBytes(chance, Buffer.from(changed)), reader);
  else mustAnswer(chance.bytes(chance.length(4_000)), reader);
  const contexts = "current: a\ncontexts:\n  a: { server: http://a:1, token: t }\n";
  parseContexts(mutatedText(chance, contexts, PIECES));
});
