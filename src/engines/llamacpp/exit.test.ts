import { describe, expect, test } from "vitest";
import { explainExit } from "./exit.ts";

interface Case {
  readonly name: string;
  readonly code?: number;
  readonly signal?: string;
  readonly lines?: readonly string[];
  readonly reason: string | RegExp;
  readonly retry: boolean;
}

const loader = (library: string): string =>
  `llama-server: error while loading shared libraries: ${library}: cannot open shared object file: No such file or directory`;

const CASES: readonly Case[] = [
  {
    name: "a build without TLS, told to answer over it",
    code: 1,
    lines: ["Server is built without SSL support"],
    reason: "this build of llama-server has no TLS in it: take one that has, or set engine_tls to false on its node",
    retry: false,
  },
  {
    name: "B68 a missing library names its package",
    code: 127,
    lines: [loader("libgomp.so.1")],
    reason: "missing library libgomp.so.1: install the package libgomp1 (libgomp where dnf is used)",
    retry: false,
  },
  {
    name: "B68 the driver's library is no package to copy",
    code: 127,
    lines: [loader("libcuda.so.1")],
    reason: "missing library libcuda.so.1: install the NVIDIA driver; it comes with no other package",
    retry: false,
  },
  {
    name: "B68 the CUDA runtime is an archive of its own",
    code: 127,
    lines: [loader("libcublas.so.12")],
    reason: "missing library libcublas.so.12: the CUDA runtime's archive belongs beside this build",
    retry: false,
  },
  {
    name: "B68 a library that nobody here knows",
    code: 127,
    lines: [loader("libstrange.so.9")],
    reason: /missing library libstrange\.so\.9: install the package of this system/,
    retry: false,
  },
  {
    name: "B68 a command that is not there is told apart",
    code: 127,
    lines: ["sh: 1: llama-server: not found"],
    reason: "command not found: sh: 1: llama-server: not found",
    retry: false,
  },
  {
    name: "not executable",
    code: 126,
    lines: ["sh: 1: x: Permission denied"],
    reason: /^it cannot be executed/,
    retry: false,
  },
  {
    name: "a system that is too old",
    code: 1,
    lines: [
      "./llama-server: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by libllama.so)",
    ],
    reason: "this build needs GLIBC_2.38, which this system is too old for",
    retry: false,
  },
  {
    name: "B69 an illegal instruction",
    signal: "SIGILL",
    reason: /^illegal instruction: .*portable build/,
    retry: false,
  },
  { name: "B69 the same through a shell", code: 132, lines: ["Illegal instruction"], reason: /^illegal/, retry: false },
  {
    name: "an argument that it does not know",
    code: 1,
    lines: ["error: invalid argument: --frobnicate"],
    reason: "llama-server does not know the argument --frobnicate",
    retry: false,
  },
  {
    name: "an argument with a wrong value",
    code: 1,
    lines: [
      'error while handling argument "-c": stoi',
      "",
      "usage:",
      "-c,    --ctx-size N   size of the prompt context",
    ],
    reason: 'wrong argument "-c": stoi',
    retry: false,
  },
  {
    name: "an argument that was removed",
    code: 1,
    lines: [
      'error while handling argument "--draft": the argument has been removed. use --spec-draft-n-max',
      "",
      "usage:",
    ],
    reason: /^wrong argument "--draft": the argument has been removed/,
    retry: false,
  },
  {
    name: "a GPU that the build does not see is not silently left out",
    code: 1,
    lines: ['error while handling argument "--device": invalid device: CUDA0', ""],
    reason: /^this build does not see the GPU CUDA0/,
    retry: false,
  },
  {
    name: "a port in use",
    code: 1,
    lines: [
      "0.00.004.435 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 41998",
      "0.00.004.534 E srv  llama_server: exiting due to HTTP server error",
    ],
    reason: "port 41998 on 127.0.0.1 is in use, or the address is not this machine's",
    retry: true,
  },
  {
    name: "memory of the GPU",
    code: 1,
    lines: [
      "0.01.004.1 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 40960.00 MiB on device 0: cudaMalloc failed: out of memory",
      "0.01.008.2 E llama_model_load: error loading model: unable to allocate CUDA0 buffer",
      "0.01.009.3 E srv  llama_server: exiting due to model loading error",
    ],
    reason: /^out of memory: ggml_backend_cuda_buffer_type_alloc_buffer: allocating 40960/,
    retry: true,
  },
  {
    name: "memory of the machine",
    code: 1,
    lines: ["0.00.006.851 E llama_init_from_model: failed to initialize the context: std::bad_alloc"],
    reason: "out of memory: llama_init_from_model: failed to initialize the context: std::bad_alloc",
    retry: true,
  },
  {
    name: "a model cut short",
    code: 1,
    lines: [
      "0.00.006.336 E llama_model_load: error loading model: tensor 'blk.0.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete",
      "0.00.006.756 E srv  llama_server: exiting due to model loading error",
    ],
    reason: /^the model cannot be loaded: tensor 'blk\.0\.ffn_up\.weight' data is not within/,
    retry: false,
  },
  {
    name: "something beside the model",
    code: 1,
    lines: [
      "0.00.008.828 E llama_adapter_lora_init: failed to open '/x.gguf': No such file or directory",
      "0.00.009.283 E srv  llama_server: exiting due to model loading error",
    ],
    reason: "the model cannot be loaded: llama_adapter_lora_init: failed to open '/x.gguf': No such file or directory",
    retry: false,
  },
  {
    name: "an adapter of another model",
    code: 1,
    lines: [
      "0.00.025.758 E llama_adapter_lora_init_from_file_ptr: failed to apply lora adapter: tensor 'output.weight' has incorrect shape (hint: maybe wrong base model?)",
      "0.00.047.394 E cmn  common_init_: failed to load lora adapter '/w/a.gguf'",
      "0.00.047.998 E srv  llama_server: exiting due to model loading error",
    ],
    reason:
      "the adapter /w/a.gguf cannot be loaded: tensor 'output.weight' has incorrect shape; it was made for another model",
    retry: false,
  },
  {
    name: "an adapter for another architecture",
    code: 1,
    lines: [
      "0.00.019.507 E llama_adapter_lora_init_from_file_ptr: failed to apply lora adapter: model arch and LoRA arch mismatch",
      "0.00.019.655 E cmn  common_init_: failed to load lora adapter '/w/a.gguf'",
    ],
    reason: "the adapter /w/a.gguf cannot be loaded: model arch and LoRA arch mismatch",
    retry: false,
  },
  { name: "killed", signal: "SIGKILL", reason: /^killed \(SIGKILL\)/, retry: true },
  { name: "killed through a shell", code: 137, reason: /^killed/, retry: true },
  {
    name: "an assertion",
    signal: "SIGABRT",
    lines: ["/build/ggml/src/ggml.c:1: GGML_ASSERT(n > 0) failed", "#0 0x00007f"],
    reason: "it aborted: /build/ggml/src/ggml.c:1: GGML_ASSERT(n > 0) failed",
    retry: true,
  },
  { name: "a crash", signal: "SIGSEGV", reason: "it crashed (SIGSEGV)", retry: true },
  { name: "weights that shrank", code: 135, reason: /^it crashed \(SIGBUS\)/, retry: true },
  { name: "ended from outside", signal: "SIGTERM", reason: "ended by SIGTERM", retry: true },
  { name: "ended through a shell", code: 143, reason: "ended by SIGTERM", retry: true },
  {
    name: "told twice",
    code: 1,
    lines: ["Received second interrupt, terminating immediately."],
    reason: /second signal/,
    retry: true,
  },
  { name: "ended by itself", code: 0, lines: ["E x: failed to allocate"], reason: /^it ended by itself/, retry: true },
  { name: "anything else", code: 7, lines: ["strange", ""], reason: "exit code 7: strange", retry: true },
  { name: "without a word", code: 7, reason: "exit code 7: no output", retry: true },
];

describe("explainExit", () => {
  test.each(CASES)("$name", ({ code, signal, lines, reason, retry }) => {
    const explained = explainExit({ code: code ?? null, signal: signal ?? null }, lines ?? []);
    expect(explained.reason).toMatch(reason);
    expect(explained.retry).toBe(retry);
  });

  test("B69 names what this CPU lacks", () => {
    const { reason } = explainExit({ code: 132, signal: null }, [], ["sse4_2", "avx", "bmi2"]);
    expect(reason).toContain("(it lacks f16c, fma, avx2)");
  });
});
