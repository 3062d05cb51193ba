import type { ExitExplanation, ExitReport } from "../engine.ts";
import {
  bare,
  died,
  type Ending,
  explainBy,
  type ExitRule,
  final,
  NOT_RUN,
  passing,
  SIGNALLED,
  STOPPED,
} from "../exit-rules.ts";

/** What a text says, as a rule: the first match of `pattern` gives the reason. */
export function said(pattern: RegExp, explain: (match: readonly string[]) => ExitExplanation): ExitRule {
  return ({ log }) => {
    const match = pattern.exec(log);
    return match === null ? undefined : explain([...match].map((part: string | undefined) => part ?? ""));
  };
}

/** A rank that follows ends with 0 although its workers died: only a log without any failure is believed. */
const FAILED = /^(?:\([^()]*\)\s*)*Traceback \(most recent|died unexpectedly|terminated with -?[1-9]|Error: /m;

const STOPPED_WELL: readonly ExitRule[] = STOPPED.map((rule) => (ending) => {
  const isHidden = ending.code === 0 && FAILED.test(ending.log);
  return isHidden ? undefined : rule(ending);
});

const ARGUMENTS: readonly ExitRule[] = [
  said(/error: unrecognized arguments: (.+)$/m, ([, unknown]) =>
    final(`it does not know the arguments ${unknown ?? ""}`),
  ),
  said(/error: (argument .+)$/m, ([, problem]) => final(`wrong ${problem ?? ""}`)),
  said(/Multiple config files specified/, () =>
    final("args name a --config, and one is given already that holds the key; write its settings as args"),
  ),
];

const PORTS: readonly ExitRule[] = [
  said(/bind on address \('?([^',]+)'?, (\d+)[^)]*\): address already in use/, ([, host, port]) =>
    passing(`port ${port ?? ""} on ${host ?? ""} is in use`),
  ),
  said(/^.*(?:port\w*(?: at)? (\d+) is (?:in use|not available)|EADDRINUSE|\[Errno 98\]).*$/im, ([line = "", port]) =>
    passing(port === "" ? `a port is in use: ${bare(line)}` : `port ${port ?? ""} is in use`),
  ),
];

const GPUS: readonly ExitRule[] = [
  said(/NVIDIA driver on your system is too old \(found version (\d+)\)/, ([, version]) =>
    final(`the NVIDIA driver is too old for this build (it offers CUDA ${cudaVersion(version)}): update it`),
  ),
  said(/CUDA driver version is insufficient/, () => final("the NVIDIA driver is too old for this build: update it")),
  said(/World size \((\d+)\) is larger than the number of available GPUs \((\d+)\)/, ([, wanted, seen]) =>
    final(`it is to use ${wanted ?? ""} GPUs and sees ${seen ?? ""}`),
  ),
  said(
    /Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable device|No accelerator \(CUDA|Torch not compiled with CUDA/,
    () => final("it sees no GPU: the driver is missing, or the replica was given none"),
  ),
  said(/no kernel image is available for execution|with CUDA capability sm_\d+ is not compatible/, () =>
    final(
      "this build has nothing for the GPU's architecture: a newer build, or an older one for an old card, is needed",
    ),
  ),
  said(/Bfloat16 is only supported on GPUs with compute capability/i, () =>
    final("the GPU is too old for bfloat16: add --dtype half to args"),
  ),
  said(/CUDA error: uncorrectable ECC|NVLink error|device-side assert|an illegal memory access/, ([what = ""]) =>
    passing(`the GPU failed: ${what}`),
  ),
];

const MEMORY: readonly ExitRule[] = [
  said(/^.*(CUDA out of memory|OutOfMemoryError|CUDA error: out of memory).*$/m, ([line = ""]) =>
    passing(`out of memory on the GPU: ${bare(line)}`),
  ),
  said(/unable to open shared memory object|insufficient shared memory|No space left on device: '\/dev\/shm/, () =>
    final("/dev/shm is too small: its processes exchange data there; give it some GiB"),
  ),
  said(/^.*(DefaultCPUAllocator: can't allocate memory|\bMemoryError\b).*$/m, ([line = ""]) =>
    passing(`out of memory: ${bare(line)}`),
  ),
];

const MODEL: readonly ExitRule[] = [
  said(/Model architectures \[([^\]]*)\] (are not supported for now|failed to be inspected)/, ([, names]) =>
    final(`this version does not know the model's architecture ${unquoted(names)}: a newer one may`),
  ),
  said(/model type `([^`]+)` but Transformers does not recognize/, ([, type]) =>
    final(`this version does not know the model's architecture ${type ?? ""}: a newer one may`),
  ),
  said(/trust_remote_code=True|--trust-remote-code/, () =>
    final("the model brings code of its own; add --trust-remote-code to args if you trust its authors"),
  ),
  said(/attention heads \((\d+)\) must be divisible by tensor parallel size \((\d+)\)/i, ([, heads, tensor]) =>
    final(`the model has ${heads ?? ""} attention heads, which ${tensor ?? ""} GPUs cannot share evenly`),
  ),
  said(/LoRA rank (\d+) is greater than max_lora_rank (\d+)/, ([, rank]) =>
    final(`an adapter is of rank ${rank ?? ""}: add --max-lora-rank ${rank ?? ""} to args`),
  ),
  said(/(GatedRepoError|is a gated repo|gated repo)[^\n]*/i, () =>
    final("it wants a file of a gated model from the Hub, and has no token that may read it"),
  ),
  said(/^.*(OfflineModeIsEnabled|LocalEntryNotFoundError|outgoing traffic has been disabled).*$/m, ([line = ""]) =>
    final(`it wants a file from the Hub that was not fetched (${bare(line)}); env HF_HUB_OFFLINE: "0" lets it`),
  ),
  said(/^.*(SafetensorError|Error while deserializing header|HeaderTooLarge).*$/m, ([line = ""]) =>
    final(`the model cannot be loaded: ${bare(line)}`),
  ),
];

const PACKAGES: readonly ExitRule[] = [
  said(/Failed to import Ray/, () => final("Ray is not installed beside the engine: install ray[cgraph] there")),
  said(/ModuleNotFoundError: No module named '([^']+)'/, ([, name]) =>
    final(`the Python package ${name ?? ""} is missing where the engine is installed`),
  ),
  said(/ImportError: ([^\s:]+\.so[^\s:]*): cannot open shared object file/, ([, library]) =>
    final(`missing library ${library ?? ""}`),
  ),
];

const byOthers = (reason: string): ExitExplanation => ({ ...passing(reason), blamesOthers: true });

const RANKS: readonly ExitRule[] = [
  said(
    /Watchdog caught collective operation timeout|ncclRemoteError|remote process exited|Connection closed by peer|Broken pipe.*TCPStore|heartbeat monitor timed out/i,
    () => byOthers("the other ranks were lost: one of them ended, or the network between them broke"),
  ),
  said(
    /DistStoreError|DistNetworkError|Timed out after \d+ seconds waiting for clients|client socket has (?:timed out|failed to connect)/,
    () => byOthers("the ranks did not meet in time: one did not start, or cannot reach the head's address"),
  ),
  said(/^.*(NCCL error|ncclSystemError|ncclInternalError|ncclUnhandledCudaError|ncclInvalidUsage).*$/m, ([line = ""]) =>
    passing(`NCCL failed between the GPUs: ${bare(line)}`),
  ),
];

const LAST: readonly ExitRule[] = [
  (ending) => {
    const error = lastError(ending);
    return error === undefined ? undefined : passing(error);
  },
  said(/(?:Worker|Scheduler|Engine)[^\n]* (?:died unexpectedly|terminated)[^\n]*?(-?\d+)\)?/, ([, code]) =>
    passing(`one of its processes ended with ${code ?? ""} and said no more`),
  ),
];

/** `own` are the engine's, and come before what is common to all of this kind. */
export function explainPythonExit(
  own: readonly ExitRule[],
  exit: ExitReport,
  lastLines: readonly string[],
): ExitExplanation {
  const rules = [...NOT_RUN, ...STOPPED_WELL, ...ARGUMENTS, ...own, ...GPUS, ...MEMORY, ...MODEL];
  const ending: Ending = { ...exit, log: lastLines.join("\n"), cpuFlags: [] };
  const illegal: ExitRule = (of) =>
    died(of, 132, "SIGILL")
      ? final("illegal instruction: this build is for a newer CPU than this machine's")
      : undefined;
  return explainBy([...rules, ...RANKS, ...PORTS, ...PACKAGES, illegal, ...LAST, ...SIGNALLED], ending);
}

/** What stands for a failure elsewhere: the words of a parent about its child. */
const SECOND_HAND = /Engine core initialization failed|See root cause above|Initialization failed, see|EngineDeadError/;

/** The last exception that has words of its own. */
function lastError({ log }: Ending): string | undefined {
  const lines = log.split("\n").map(bare);
  const errors = lines.filter((line) => /^([\w.]+\.)?\w*(Error|Exception|Interrupt)(: |$)/.test(line));
  return errors.findLast((line) => !SECOND_HAND.test(line) && line.includes(": ")) ?? errors.at(-1);
}

/** As torch writes it, such as 12080 for 12.8. */
function cudaVersion(text = ""): string {
  const number = Number(text);
  return `${String(Math.floor(number / 1000))}.${String(Math.floor((number % 1000) / 10))}`;
}

const unquoted = (names = ""): string => names.replaceAll(/['"]/g, "");
