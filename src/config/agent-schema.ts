import { z } from "zod";
import { nodeIp, peerListen, listenOrOff, portRange, serverAddress } from "./addresses.ts";
import { duration, flag, integer, number, oneOf, path, pathOrEmpty, secret, setting, text } from "./fields.ts";

/** A node's id stands in certificates as a DNS name. */
const NODE_ID = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

const name = (phrase: string): ReturnType<typeof text> =>
  text({ type: "name", phrase, pattern: /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/ });

const tls = z.strictObject({
  ca: setting(
    path().optional(),
    "Certificates of the authority that the control plane's certificate must come from.",
    "the machine's own certificate store",
  ),
  cert: setting(path(), "This node's certificate. Its common name is the node's id."),
  key: setting(path(), "The private key of that certificate, readable by nobody else."),
});

const fabric = z.strictObject({
  name: setting(
    name("a name such as ib-a"),
    "Nodes that share a fabric's name can reach each other over it. A fabric over Ethernet needs roce in its name.",
  ),
  hcas: setting(
    z.array(name("an adapter such as mlx5_0")).min(1),
    "The RDMA adapters of this node that are plugged into the fabric.",
  ),
  rate_gbps: setting(
    number({ min: 0, max: 100_000 }).prefault(0),
    "Speed of one adapter, in gigabits a second; 0 when it is not known.",
  ),
});

const discovery = z.strictObject({
  nvidia_smi: setting(
    pathOrEmpty().prefault(""),
    "The nvidia-smi program.",
    "looked for on PATH and in the usual places",
  ),
  ib_root: setting(path().prefault("/sys/class/infiniband"), "Folder in which the kernel lists RDMA adapters."),
  prefer_nvml: setting(
    flag().prefault(true),
    "Ask the driver's library, NVML, before nvidia-smi: it knows more of links and faults.",
  ),
});

const engines = z.strictObject({
  vllm: setting(
    z
      .strictObject({
        bin: setting(path().optional(), "Your own vllm program; nothing is installed for this engine then.", "none"),
        launch_mode: setting(
          oneOf(["mp", "ray"]).prefault("mp"),
          "How a replica over several nodes is started: by vLLM's own workers, or by Ray.",
        ),
        ray_bin: setting(path().optional(), "The ray program, for launch_mode ray.", "ray beside bin"),
      })
      .prefault({}),
    "vLLM on this node.",
  ),
  sglang: setting(
    z
      .strictObject({
        python: setting(path().optional(), "Your own Python in which SGLang is installed.", "none"),
      })
      .prefault({}),
    "SGLang on this node.",
  ),
  "llama.cpp": setting(
    z
      .strictObject({
        bin: setting(
          path().optional(),
          "Your own llama-server program; nothing is installed for this engine then.",
          "looked for on PATH and in /opt/llama.cpp, else installed",
        ),
      })
      .prefault({}),
    "llama.cpp on this node.",
  ),
  uv: setting(
    z
      .strictObject({
        bin: setting(
          path().optional(),
          "Your own uv program, which installs vLLM and SGLang.",
          "looked for on PATH, else fetched from the package index",
        ),
      })
      .prefault({}),
    "What installs engines that are packages of Python.",
  ),
});

const supervisor = z.strictObject({
  work_dir: setting(
    path().optional(),
    "What must outlive the agent: launch records and the output of engines.",
    "/var/lib/llmgw-agent, or below --data-dir",
  ),
  log_lines: setting(
    integer({ min: 1, max: 100_000 }).prefault(512),
    "Lines of an engine's output that are kept for diagnosis.",
  ),
  stop_timeout: setting(duration().prefault("60s"), "How long an engine may take to end before it is killed."),
  health_interval: setting(duration().prefault("2s"), "How often a running engine is asked whether it is well."),
});

export const agentSchema = z.strictObject({
  server: setting(
    z.union([serverAddress(), z.array(serverAddress()).min(1)]),
    "Where the control plane is. With several addresses the next one is tried when one does not answer.",
  ),
  tls: setting(
    tls.optional(),
    "Certificates for both directions; server must then be https://.",
    "the machine's own certificate store",
  ),
  join_token: setting(secret().optional(), "Admits a node that has no certificate; over https it brings one.", "none"),
  node_id: setting(
    text({ type: "name", phrase: "letters, digits, dots, hyphens and underscores", pattern: NODE_ID }).optional(),
    "The node's name in the cluster, one of a kind.",
    "the host name",
  ),
  mgmt_addr: setting(
    nodeIp().optional(),
    "Address by which routers and other nodes reach this one. Never one of a fabric.",
    "the one on the route to the control plane",
  ),
  mgmt_interface: setting(
    text({ type: "name", phrase: "a network interface such as eth0", pattern: /^[^\s/:]{1,15}$/ }).optional(),
    "Network interface whose address is taken.",
    "the one on the route to the control plane",
  ),
  metrics_listen: setting(
    listenOrOff("127.0.0.1").prefault("127.0.0.1:7444"),
    'Where the agent\'s own metrics are read; "" for nowhere.',
  ),
  peer_listen: setting(
    peerListen().prefault(":7445"),
    'Where other nodes fetch weights from this one; "" for nowhere. Without a host it is the management address.',
  ),
  engine_ports: setting(portRange().prefault("41000-41999"), "Ports that engines are given."),
  engine_tls: setting(
    flag().prefault(false),
    "Engines answer over TLS, each with a certificate that the agent makes for it and routers know it by.",
  ),
  labels: setting(
    z.record(text({ phrase: "a name for the label" }), text({ allowEmpty: true })).prefault({}),
    "Words of your own, for a profile's node_selector.",
  ),
  heartbeat_interval: setting(duration().prefault("5s"), "How often the agent says that it lives."),
  reconnect_base: setting(duration().prefault("1s"), "First wait after a lost connection; it doubles from try to try."),
  reconnect_max: setting(duration().prefault("30s"), "Longest wait between two tries to connect."),
  fabrics: setting(
    z.array(fabric).prefault([]),
    "RDMA fabrics that the node is plugged into. Without one it never takes part in a replica over several nodes.",
  ),
  discovery: setting(discovery.prefault({}), "Where the node looks for its own hardware."),
  model_dirs: setting(
    z.array(path()).prefault([]),
    "Further folders that hold weights. They are read and never written to.",
  ),
  engines_dir: setting(path().optional(), "Where engines are installed.", "/opt/llmgw/engines, or below --data-dir"),
  engines: setting(engines.prefault({}), "Engines that you brought yourself."),
  supervisor: setting(supervisor.prefault({}), "How engines are watched."),
});
