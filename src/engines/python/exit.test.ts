import { describe, expect, test } from "vitest";
import { sglang } from "../sglang/index.ts";
import { vllm } from "../vllm/index.ts";

interface Case {
  readonly name: string;
  readonly engine?: typeof vllm;
  readonly code?: number;
  readonly signal?: string;
  readonly lines?: readonly string[];
  readonly reason: string | RegExp;
  readonly retry: boolean;
  readonly blamesOthers?: true;
}

const CORE = "(EngineCore pid=4711) ERROR 11-30 09:45:49 [core.py:1584] ";
const SCHEDULER = "[2026-11-30 09:45:49 TP0] ";
const PARENT =
  "(APIServer pid=4700) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}";

const CASES: readonly Case[] = [
  {
    name: "the GPU is held by somebody else",
    code: 1,
    lines: [
      `${CORE}ValueError: Free memory on device cuda:0 (11.3/79.1 GiB) on startup is less than desired GPU memory utilization (0.92, 72.77 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.`,
      PARENT,
    ],
    reason: /^of the GPU's 79\.1 GiB only 11\.3 are free, and it wants 72\.77 \(--gpu-memory-utilization 0\.92\)/,
    retry: true,
  },
  {
    name: "a context that does not fit, with the one that does",
    code: 1,
    lines: [
      `${CORE}ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (9.5 GiB). Based on the available memory, the estimated maximum model length is 77824. Try increasing \`gpu_memory_utilization\``,
      PARENT,
    ],
    reason:
      "the cache for a context of 131072 needs 16.0 GiB and 9.5 are left: set context to 77824 or less, or use more GPUs",
    retry: false,
  },
  {
    name: "no room for any cache",
    code: 1,
    lines: [`${CORE}ValueError: No available memory for the cache blocks. Try increasing`, PARENT],
    reason: /^the weights leave no memory for the cache/,
    retry: false,
  },
  {
    name: "no room for any cache, of SGLang",
    engine: sglang,
    code: 1,
    lines: [
      `${SCHEDULER}RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.4`,
    ],
    reason: /^the weights leave no memory for the cache.*--mem-fraction-static/,
    retry: false,
  },
  {
    name: "memory of the GPU",
    code: 1,
    lines: [
      "(Worker_TP0 pid=9) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB",
    ],
    reason: /^out of memory on the GPU: torch\.OutOfMemoryError: CUDA out of memory\. Tried to allocate 2\.00 GiB/,
    retry: true,
  },
  {
    name: "an architecture that nobody knew yet",
    code: 1,
    lines: [
      "ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys([])",
    ],
    reason: "this version does not know the model's architecture Qwen9ForCausalLM: a newer one may",
    retry: false,
  },
  {
    name: "the same, told by transformers",
    code: 1,
    lines: [
      "ValueError: The checkpoint you are trying to load has model type `qwen9` but Transformers does not recognize this architecture.",
    ],
    reason: /architecture qwen9/,
    retry: false,
  },
  {
    name: "code of the model's own",
    code: 1,
    lines: [
      "ValueError: ... requires you to execute the configuration file; please set the option `trust_remote_code=True` to remove this error.",
    ],
    reason: /add --trust-remote-code to args if you trust/,
    retry: false,
  },
  {
    name: "heads that do not divide",
    code: 1,
    lines: ["ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8)."],
    reason: "the model has 28 attention heads, which 8 GPUs cannot share evenly",
    retry: false,
  },
  {
    name: "fewer GPUs than it was told",
    code: 1,
    lines: ["ValueError: World size (4) is larger than the number of available GPUs (2) in this node. If this is"],
    reason: "it is to use 4 GPUs and sees 2",
    retry: false,
  },
  {
    name: "no GPU at all",
    code: 1,
    lines: ["RuntimeError: Failed to infer device type, please set"],
    reason: /sees no GPU/,
    retry: false,
  },
  {
    name: "no GPU at all, of SGLang",
    engine: sglang,
    code: 1,
    lines: ["RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA) is available."],
    reason: /sees no GPU/,
    retry: false,
  },
  {
    name: "a driver that is too old",
    code: 1,
    lines: ["RuntimeError: The NVIDIA driver on your system is too old (found version 12080). Please update"],
    reason: "the NVIDIA driver is too old for this build (it offers CUDA 12.8): update it",
    retry: false,
  },
  {
    name: "a card that the build has nothing for",
    code: 1,
    lines: ["torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device"],
    reason: /nothing for the GPU's architecture/,
    retry: false,
  },
  {
    name: "a card too old for the weights' type",
    code: 1,
    lines: [
      "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5.",
    ],
    reason: "the GPU is too old for bfloat16: add --dtype half to args",
    retry: false,
  },
  {
    name: "ranks that did not meet",
    code: 1,
    lines: ["torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."],
    reason: /^the ranks did not meet in time/,
    retry: true,
    blamesOthers: true,
  },
  {
    name: "ranks that lost each other",
    signal: "SIGABRT",
    lines: [
      "[rank1]:[E1130 09:45:49] [PG ID 2 PG GUID 3 Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)",
    ],
    reason: /^the other ranks were lost/,
    retry: true,
    blamesOthers: true,
  },
  {
    name: "NCCL",
    code: 1,
    lines: [
      "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:94, unhandled system error, NCCL version 2.30.7",
    ],
    reason: /^NCCL failed between the GPUs: .*unhandled system error/,
    retry: true,
  },
  {
    name: "a port in use",
    code: 1,
    lines: [
      "ERROR:    [Errno 98] error while attempting to bind on address ('10.0.0.11', 41000): address already in use",
    ],
    reason: "port 41000 on 10.0.0.11 is in use",
    retry: true,
  },
  {
    name: "a port in use, without its number",
    code: 1,
    lines: ["OSError: [Errno 98] Address already in use"],
    reason: /^a port is in use/,
    retry: true,
  },
  {
    name: "a port that ranks were to meet on",
    engine: sglang,
    code: 1,
    lines: [
      "ValueError: dist_init_port at 41900 is not available in 30 seconds. dist_init_port at 41900 is not available",
    ],
    reason: "port 41900 is in use",
    retry: true,
  },
  {
    name: "an argument that it does not know",
    code: 2,
    lines: ["usage: vllm serve [model_tag] [options]", "vllm serve: error: unrecognized arguments: --frobnicate"],
    reason: "it does not know the arguments --frobnicate",
    retry: false,
  },
  {
    name: "an argument with a wrong value",
    code: 2,
    lines: ["vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp3'"],
    reason: "wrong argument --kv-cache-dtype: invalid choice: 'fp3'",
    retry: false,
  },
  {
    name: "a file of settings beside ours",
    engine: sglang,
    code: 1,
    lines: ["ValueError: Multiple config files specified! Only one allowed."],
    reason: /^args name a --config/,
    retry: false,
  },
  {
    name: "a gated model",
    code: 1,
    lines: ["huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo for url"],
    reason: /gated model.*no token/,
    retry: false,
  },
  {
    name: "something that was not fetched",
    code: 1,
    lines: [
      "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder and outgoing traffic has been disabled.",
    ],
    reason: /was not fetched.*HF_HUB_OFFLINE: "0" lets it$/,
    retry: false,
  },
  {
    name: "weights cut short",
    code: 1,
    lines: ["safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"],
    reason: /^the model cannot be loaded: safetensors_rust/,
    retry: false,
  },
  {
    name: "an adapter of a larger rank",
    code: 1,
    lines: ["ValueError: LoRA rank 64 is greater than max_lora_rank 16."],
    reason: "an adapter is of rank 64: add --max-lora-rank 64 to args",
    retry: false,
  },
  {
    name: "no Ray",
    code: 1,
    lines: ["ValueError: Failed to import Ray: No module named 'ray'.Please install Ray with `pip install ray`."],
    reason: /^Ray is not installed/,
    retry: false,
  },
  {
    name: "a package that is missing",
    code: 1,
    lines: ["ModuleNotFoundError: No module named 'flashinfer'"],
    reason: "the Python package flashinfer is missing where the engine is installed",
    retry: false,
  },
  {
    name: "a small /dev/shm",
    code: 1,
    lines: [
      "RuntimeError: unable to open shared memory object </torch_1> in read-write mode: No space left on device (28)",
    ],
    reason: /^\/dev\/shm is too small/,
    retry: false,
  },
  {
    name: "a follower that ends with 0 although its worker died",
    code: 0,
    lines: [
      "(Worker_TP5 pid=31) ValueError: odd",
      "ERROR 11-30 09:45:49 [multiproc_executor.py:381] Worker proc VllmWorker-5 died unexpectedly (exit code: 1), shutting down executor.",
    ],
    reason: "ValueError: odd",
    retry: true,
  },
  {
    name: "the same without any word",
    engine: sglang,
    code: 0,
    lines: [`${SCHEDULER}Scheduler or DataParallelController 812 terminated with -9`],
    reason: "one of its processes ended with -9 and said no more",
    retry: true,
  },
  {
    name: "SGLang's own end after its last request",
    engine: sglang,
    signal: "SIGKILL",
    lines: [`${SCHEDULER}Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].`],
    reason: /^ended by SIGTERM/,
    retry: true,
  },
  { name: "killed", signal: "SIGKILL", reason: /^killed \(SIGKILL\)/, retry: true },
  {
    name: "ended from outside",
    signal: "SIGTERM",
    lines: ["Traceback (most recent call last):"],
    reason: "ended by SIGTERM",
    retry: true,
  },
  {
    name: "ended by itself",
    code: 0,
    lines: ["INFO:     Finished server process"],
    reason: /^it ended by itself/,
    retry: true,
  },
  {
    name: "the last exception with words of its own",
    code: 1,
    lines: [
      `${CORE}Traceback (most recent call last):`,
      `${CORE}  File "x.py", line 1`,
      `${CORE}KeyError: 'lm_head'`,
      PARENT,
    ],
    reason: "KeyError: 'lm_head'",
    retry: true,
  },
  { name: "anything else", code: 7, lines: ["strange", ""], reason: "exit code 7: strange", retry: true },
  { name: "without a word", code: 7, reason: "exit code 7: no output", retry: true },
];

describe("explainExit", () => {
  test.each(CASES)("$name", ({ engine = vllm, code, signal, lines, reason, retry, blamesOthers }) => {
    const explained = engine.explainExit({ code: code ?? null, signal: signal ?? null }, lines ?? []);
    expect(explained.reason).toMatch(reason);
    expect([explained.retry, explained.blamesOthers]).toEqual([retry, blamesOthers]);
  });
});
