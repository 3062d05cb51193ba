import { describe, expect, test } from "vitest";
import { err, ok } from "../core/result.ts";
import { type AgentConfig, parseAgentConfig, renderAgentConfig } from "./agent.ts";
import { renderProblems } from "./problem.ts";
import type { ConfigSource } from "./reader.ts";

const source = (text: string, env: ConfigSource["env"] = {}): ConfigSource => ({
  text,
  file: "agent.yaml",
  env,
  readSecret: (path) => (path === "/run/token" ? ok("sesame\n") : err("no such file")),
});

function config(text: string): AgentConfig {
  const parsed = parseAgentConfig(source(text));
  if (!parsed.ok) throw new Error(renderProblems(parsed.error));
  return parsed.value;
}

function problems(text: string): string {
  const parsed = parseAgentConfig(source(text));
  return parsed.ok ? "no problems" : renderProblems(parsed.error);
}

const EVERYTHING = `
server: ["https://cp-1.example:7443", "https://cp-2.example:7443"]
tls:
  ca: /etc/llmgw/ca.pem
  cert: /etc/llmgw/agent.pem
  key: /etc/llmgw/agent-key.pem
join_token: file:/run/token
node_id: gpu-a-01
mgmt_addr: "10.0.0.11"
mgmt_interface: eth0
metrics_listen: "[::1]:9100"
peer_listen: ""
engine_ports: "42000-42999"
engine_tls: true
labels:
  rack: r12
heartbeat_interval: 2s
reconnect_base: 500ms
reconnect_max: 1m
fabrics:
  - name: ib-a
    hcas: [mlx5_0, mlx5_1]
    rate_gbps: 200
discovery:
  nvidia_smi: /usr/local/nvidia/bin/nvidia-smi
  ib_root: /sys/class/infiniband
  prefer_nvml: false
model_dirs:
  - /srv/models
  - /mnt/lustre/models
engines_dir: /opt/engines
engines:
  vllm:
    bin: /opt/vllm/bin/vllm
    launch_mode: ray
    ray_bin: /opt/vllm/bin/ray
  sglang:
    python: /opt/sglang/bin/python
  llama.cpp:
    bin: /opt/llama.cpp/llama-server
  uv:
    bin: /opt/uv/uv
supervisor:
  work_dir: /var/lib/work
  log_lines: 100
  stop_timeout: 90s
  health_interval: 1s
`;

describe("agent.yaml", () => {
  test("every key is taken", () => {
    expect(config(EVERYTHING)).toEqual({
      server: ["https://cp-1.example:7443", "https://cp-2.example:7443"],
      tls: { ca: "/etc/llmgw/ca.pem", cert: "/etc/llmgw/agent.pem", key: "/etc/llmgw/agent-key.pem" },
      join_token: "sesame",
      node_id: "gpu-a-01",
      mgmt_addr: "10.0.0.11",
      mgmt_interface: "eth0",
      metrics_listen: { host: "::1", port: 9100 },
      peer_listen: undefined,
      engine_ports: { first: 42_000, last: 42_999 },
      engine_tls: true,
      labels: { rack: "r12" },
      heartbeat_interval: 2000,
      reconnect_base: 500,
      reconnect_max: 60_000,
      fabrics: [{ name: "ib-a", hcas: ["mlx5_0", "mlx5_1"], rate_gbps: 200 }],
      discovery: {
        nvidia_smi: "/usr/local/nvidia/bin/nvidia-smi",
        ib_root: "/sys/class/infiniband",
        prefer_nvml: false,
      },
      model_dirs: ["/srv/models", "/mnt/lustre/models"],
      engines_dir: "/opt/engines",
      engines: {
        vllm: { bin: "/opt/vllm/bin/vllm", launch_mode: "ray", ray_bin: "/opt/vllm/bin/ray" },
        sglang: { python: "/opt/sglang/bin/python" },
        "llama.cpp": { bin: "/opt/llama.cpp/llama-server" },
        uv: { bin: "/opt/uv/uv" },
      },
      supervisor: { work_dir: "/var/lib/work", log_lines: 100, stop_timeout: 90_000, health_interval: 1000 },
    });
  });

  test("one line is enough", () => {
    const parsed = config("server: http://cp.example:7443\n");
    expect(parsed).toEqual({
      server: ["http://cp.example:7443"],
      metrics_listen: { host: "127.0.0.1", port: 7444 },
      peer_listen: { host: undefined, port: 7445 },
      engine_ports: { first: 41_000, last: 41_999 },
      engine_tls: false,
      labels: {},
      heartbeat_interval: 5000,
      reconnect_base: 1000,
      reconnect_max: 30_000,
      fabrics: [],
      discovery: { nvidia_smi: "", ib_root: "/sys/class/infiniband", prefer_nvml: true },
      model_dirs: [],
      engines: { vllm: { launch_mode: "mp" }, sglang: {}, "llama.cpp": {}, uv: {} },
      supervisor: { log_lines: 512, stop_timeout: 60_000, health_interval: 2000 },
    });
    expect(Object.keys(parsed)).not.toContain("engines_dir");
  });

  test("without a server it says so", () => {
    expect(problems("")).toBe("agent.yaml:1: server is missing");
    expect(problems("# nothing yet\n")).toBe("agent.yaml:1: server is missing");
  });

  test("what is in force is a valid file that says the same, and hides secrets", () => {
    const parsed = config(EVERYTHING);
    const rendered = renderAgentConfig(parsed);
    expect(rendered).not.toContain("sesame");
    expect(rendered).toContain('join_token: "[hidden]"');
    expect(config(rendered)).toEqual({ ...parsed, join_token: "[hidden]" });
    const least = config("server: http://cp.example:7443\n");
    expect(config(renderAgentConfig(least))).toEqual(least);
    expect(renderAgentConfig(least)).toContain("stop_timeout: 1m\n");
  });
});

const S = "server: https://cp.example:7443\n";
const TLS = "tls: {ca: /a, cert: /b, key: /c}\n";

describe("what must hold between keys", () => {
  test.each([
    [
      "tls with http://",
      `server: http://cp.example:7443\n${TLS}`,
      /^agent.yaml:1: server is http:.*in the clear; write https:\/\/cp.example:7443/,
    ],
    [
      "tls with one http:// of two",
      `server:\n  - https://a:1\n  - http://b:1\n${TLS}`,
      /^agent.yaml:3: server is http:\/\/b:1/,
    ],
    ["a server twice", "server: ['http://a:1', 'http://A.:1/']\n", /server names http:\/\/a:1 twice/],
    ["no server", "server: []\n", /server must not be an empty list/],
    ["half of tls", `${S}tls: {ca: /a, key: /c}\n`, /^agent.yaml:2: tls.cert is missing$/],
    [
      "waits the wrong way round",
      `${S}reconnect_base: 1m\n`,
      /reconnect_base \(1m\) is longer than reconnect_max \(30s\)/,
    ],
    ["a fabric twice", `${S}fabrics: [{name: a, hcas: [x]}, {name: a, hcas: [y]}]\n`, /fabrics holds the name a twice/],
    [
      "an adapter in two fabrics",
      `${S}fabrics: [{name: a, hcas: [x]}, {name: b, hcas: [y, x]}]\n`,
      /the adapter x is listed twice/,
    ],
    ["an adapter twice in one", `${S}fabrics: [{name: a, hcas: [x, x]}]\n`, /the adapter x is listed twice/],
    [
      "a fabric without adapters",
      `${S}fabrics: [{name: a, hcas: []}]\n`,
      /fabrics\[0\].hcas must not be an empty list/,
    ],
    [
      "ports that engines could be given",
      `${S}peer_listen: 41500\n`,
      /peer_listen has the port 41500, which is among engine_ports/,
    ],
    ["ports backwards", `${S}engine_ports: "42000-41000"\n`, /engine_ports runs backwards/],
    ["a port too high", `${S}engine_ports: "65000-66000"\n`, /engine_ports has the port 66000/],
    ["a negative port", `${S}engine_ports: "-5-10"\n`, /engine_ports has the port -5/],
    ["one port", `${S}engine_ports: 41000\n`, /engine_ports must be two ports/],
    ["a heartbeat of nothing", `${S}heartbeat_interval: 0s\n`, /heartbeat_interval must be a duration from 1ms to 24d/],
    [
      "a launch mode that is none",
      `${S}engines: {vllm: {launch_mode: rai}}\n`,
      /engines.vllm.launch_mode must be one of mp, ray, but is "rai"; did you mean ray\?/,
    ],
    [
      "another spelling of an engine",
      `${S}engines: {llama_cpp: {bin: /x}}\n`,
      /engines.llama_cpp is not a known key; did you mean llama.cpp\?/,
    ],
    [
      "a relative path",
      `${S}model_dirs: [models]\n`,
      /model_dirs\[0\] must be an absolute path such as \/srv\/x, but is "models"/,
    ],
    ["a label that is a number", `${S}labels: {rack: 12}\n`, /labels.rack must be a text, but is 12; put it in quotes/],
    ["a node id with a slash", `${S}node_id: a/b\n`, /node_id must be letters, digits, dots/],
    ["log lines of minus one", `${S}supervisor: {log_lines: -1}\n`, /supervisor.log_lines must be a whole number/],
    ["a listener that is no address", `${S}metrics_listen: host:99999\n`, /metrics_listen has the port 99999/],
    [
      "a list of maps for a server",
      "server: {url: x}\n",
      /server must be an http:\/\/ or https:\/\/ address, or a list, but is a map of keys/,
    ],
  ])("%s is refused", (_, text, want) => {
    expect(problems(text)).toMatch(want);
  });

  test("https without a certificate authority of one's own is fine", () => {
    expect(config(S).tls).toBeUndefined();
  });

  test.each(["169.254.30.2", "fe80::1", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "::ffff:169.254.1.1", "gpu-1"])(
    "B18 %s is no address for a node",
    (address) => {
      expect(problems(`${S}mgmt_addr: "${address}"\n`)).toMatch(/^agent.yaml:2: mgmt_addr /);
    },
  );

  test.each(["192.0.2.2", "2001:db8::2", "127.0.0.1", "::1"])("B18 %s is one", (address) => {
    expect(config(`${S}mgmt_addr: "${address}"\n`).mgmt_addr).toBe(address);
  });

  test("everything that is wrong is said in one run", () => {
    const text = `server: http://cp.example:-1\nheartbeat_interval: 5 seconds\nlabel: {}\nsupervisor:\n\tlog_lines: 5\nreconnect_base: 1h\n`;
    expect(problems(text).split("\n")).toEqual([
      expect.stringContaining("agent.yaml:1: server has the port -1"),
      expect.stringContaining("agent.yaml:2: heartbeat_interval"),
      expect.stringContaining("agent.yaml:3: label is not a known key; did you mean labels?"),
      expect.stringContaining("agent.yaml:5: this line is indented with a tab"),
      expect.stringContaining("agent.yaml:6: reconnect_base (1h) is longer"),
    ]);
  });
});
