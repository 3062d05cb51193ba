import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { GangPart } from "../../src/core/gang-part.ts";
import type { Engine, EngineCommand, Launch } from "../../src/engines/engine.ts";
import { type LaunchCase, launchCases, rayCases } from "../../src/engines/golden/cases.ts";
import { sglang } from "../../src/engines/sglang/index.ts";
import { vllm } from "../../src/engines/vllm/index.ts";
import { usesRay } from "../../src/engines/vllm/ray.ts";
import { rayStandIn } from "../fakes/ray-stand-in.ts";

/** A command line, and what a parser must have read from it, by the parser's own names. */
export interface Shown {
  readonly name: string;
  /** Without the program. */
  readonly argv: readonly string[];
  readonly expected: Readonly<Record<string, unknown>>;
}

export interface ShownProgram {
  readonly parser: "vllm" | "sglang" | "ray";
  readonly version: string;
  /** `folder` is where the files of a launch may be written. */
  readonly show: (folder: string) => Promise<readonly Shown[]>;
}

export const PROGRAMS: readonly ShownProgram[] = [
  { parser: "vllm", version: "0.33.0", show: (folder) => showEngine({ ...VLLM, folder, version: "0.33.0" }) },
  { parser: "ray", version: "2.60.0", show: () => showRay() },
  { parser: "sglang", version: "0.5.23", show: (folder) => showEngine({ ...SGLANG, folder, version: "0.5.23" }) },
  { parser: "sglang", version: "0.5.9", show: (folder) => showEngine({ ...SGLANG, folder, version: "0.5.9" }) },
];

interface Showing {
  readonly engine: Engine;
  readonly cases: typeof launchCases;
  readonly folder: string;
  readonly version: string;
  /** From where on the arguments are the parser's. */
  readonly argvOf: (command: EngineCommand) => readonly string[];
  readonly expected: (launch: Launch) => Shown["expected"];
}

const VLLM = {
  engine: vllm,
  cases: (program: Parameters<typeof launchCases>[0]) => [
    ...launchCases(program),
    // A worker of Ray is not vLLM.
    ...rayCases(program).filter(({ launch }) => launch.gang?.rank === 0),
  ],
  argvOf: ({ argv }: EngineCommand) => argv.slice(argv.indexOf("serve")),
  expected: vllmReads,
};
const SGLANG = {
  engine: sglang,
  cases: launchCases,
  argvOf: ({ argv }: EngineCommand) => argv.slice(argv.indexOf("sglang.launch_server") + 1),
  expected: sglangReads,
};

async function showEngine({ engine, cases, folder, version, argvOf, expected }: Showing): Promise<readonly Shown[]> {
  const shown: Shown[] = [];
  for (const { name, launch } of cases({ binary: "/opt/venv/bin/program", version })) {
    // A release without TLS is never told to answer over it.
    if (launch.tls !== undefined && engine.withoutTls?.(version) !== undefined) continue;
    const command = engine.command({ ...launch, workDir: folder });
    for (const { path, text } of command.files ?? []) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { mode: 0o600 });
    }
    shown.push({ name, argv: argvOf(command), expected: expected(launch) });
  }
  return shown;
}

const UNCUT = { tensor: 1, pipeline: 1 };

function vllmReads(launch: Launch): Shown["expected"] {
  const { context = null, parallel = UNCUT, adapters = [], gpuShare } = launch;
  return {
    model_tag: launch.modelPath,
    ...{ host: launch.host, port: launch.port, served_model_name: launch.serves },
    max_model_len: context,
    ...{ tensor_parallel_size: parallel.tensor, pipeline_parallel_size: parallel.pipeline },
    enable_prompt_tokens_details: true,
    ...(adapters.length === 0 ? {} : { enable_lora: true }),
    ...(gpuShare === undefined ? {} : { gpu_memory_utilization: gpuShare }),
    ...tlsRead(launch),
    ...gangOfVllm(launch),
  };
}

/** Both name it alike. */
const tlsRead = ({ tls }: Launch): Shown["expected"] =>
  tls === undefined ? {} : { ssl_certfile: tls.certFile, ssl_keyfile: tls.keyFile };

const ALONE = { nnodes: 1, node_rank: 0, headless: false };

function gangOfVllm(launch: Launch): Shown["expected"] {
  const { gang } = launch;
  if (gang === undefined) return ALONE;
  if (usesRay(launch)) return { ...ALONE, distributed_executor_backend: "ray" };
  const { rank, ranks, masterHost, masterPort } = gang;
  return { nnodes: ranks, node_rank: rank, headless: rank > 0, master_addr: masterHost, master_port: masterPort };
}

function sglangReads(launch: Launch): Shown["expected"] {
  const { context = null, parallel = UNCUT, adapters, gang } = launch;
  const alone = { nnodes: 1, node_rank: 0, dist_init_addr: null };
  return {
    model_path: launch.modelPath,
    ...{ host: launch.host, port: launch.port, served_model_name: launch.serves[0] },
    api_key: launch.apiKey === "" ? null : launch.apiKey,
    context_length: context,
    ...{ tp_size: parallel.tensor, pp_size: parallel.pipeline },
    ...(gang === undefined ? alone : { nnodes: gang.ranks, node_rank: gang.rank, dist_init_addr: addressOf(gang) }),
    ...{ enable_metrics: true, enable_cache_report: true },
    ...tlsRead(launch),
    lora_paths: adapters?.map(({ name, path }) => ({ lora_name: name, lora_path: path })) ?? null,
  };
}

const addressOf = ({ masterHost, masterPort }: GangPart): string => `${masterHost}:${String(masterPort)}`;

/** What the shells of a head and of a worker call Ray with. */
async function showRay(): Promise<readonly Shown[]> {
  const shown: Shown[] = [];
  for (const { name, launch } of rayCases({ binary: "/opt/venv/bin/vllm", version: "0.33.0" })) {
    if (launch.args.some((arg) => arg.endsWith("=mp"))) continue;
    for (const argv of await callsOfRay(launch)) {
      shown.push({ name: `${name}: ${argv[0] ?? ""}`, argv, expected: rayReads(launch, argv[0] ?? "") });
    }
  }
  return shown;
}

function rayReads({ gang, gpus }: Launch, verb: string): Shown["expected"] {
  if (gang === undefined) throw new Error("a launch of one node only");
  const address = addressOf(gang);
  if (verb === "health-check") return { address };
  const own = { block: true, node_ip_address: gang.ownAddress, num_gpus: gpus.length, disable_usage_stats: true };
  const head = { head: true, port: gang.masterPort, include_dashboard: false };
  return { ...own, ...(gang.rank === 0 ? head : { head: false, address }) };
}

async function callsOfRay(launch: LaunchCase["launch"]): Promise<readonly (readonly string[])[]> {
  const standIn = await rayStandIn();
  try {
    const { ray, engine } = standIn;
    const command = vllm.command({ ...launch, binary: engine, nodeOptions: { ...launch.nodeOptions, ray_bin: ray } });
    await standIn.run(command);
    const calls = await standIn.calls();
    return calls.flatMap(([program, ...argv], at) => {
      // Every second question for its health is the same.
      const isFirst = calls.findIndex(([other, verb]) => other === program && verb === argv[0]) === at;
      return program === "ray" && isFirst ? [argv] : [];
    });
  } finally {
    await standIn.remove();
  }
}
