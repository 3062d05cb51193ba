import { bytes } from "../../core/ids.ts";
import type { Profile } from "../../core/profile.ts";
import { countOf } from "../weights/count.ts";
import { CACHE_BYTES, CUDA_CONTEXT, type MemoryRules } from "../weights/memory-rules.ts";
import { PROMPT_CACHE_MIB } from "./command.ts";

const MiB = 2 ** 20;

/** Without --parallel llama-server has four slots, and lets them share one cache. */
const SLOTS = 4;
const BATCH = 512;
/** The program, its libraries and threads: 150 MiB of host memory for each process. */
const PROCESS_MIB = 150;

interface Option {
  readonly flags: readonly string[];
  readonly variable: string;
}

const OPTIONS = {
  context: { flags: ["-c", "--ctx-size"], variable: "LLAMA_ARG_CTX_SIZE" },
  slots: { flags: ["-np", "--parallel"], variable: "LLAMA_ARG_N_PARALLEL" },
  keys: { flags: ["-ctk", "--cache-type-k"], variable: "LLAMA_ARG_CACHE_TYPE_K" },
  values: { flags: ["-ctv", "--cache-type-v"], variable: "LLAMA_ARG_CACHE_TYPE_V" },
  batch: { flags: ["-ub", "--ubatch-size"], variable: "LLAMA_ARG_UBATCH" },
  promptCache: { flags: ["-cram", "--cache-ram"], variable: "LLAMA_ARG_CACHE_RAM" },
} as const satisfies Readonly<Record<string, Option>>;

const UNIFIED = ["-kvu", "--kv-unified"];
const NOT_UNIFIED = ["-no-kvu", "--no-kv-unified"];
const WINDOWS_WHOLE = ["--swa-full"];

type Asked = Pick<Profile, "args" | "env" | "context">;

/** What llama-server will do with memory, from what the profile has it started with. Its own arguments come last and win. */
export function memoryRules(asked: Asked): MemoryRules {
  const slots = countOf(numberOf(asked, OPTIONS.slots));
  return {
    split: "layers",
    context:
      countOf(numberOf({ ...asked, env: {} }, OPTIONS.context)) ??
      asked.context ??
      countOf(numberOf(asked, OPTIONS.context)),
    slots: slots ?? SLOTS,
    unified: isUnified(asked.args, slots === undefined),
    keyBytes: cacheBytes(asked, OPTIONS.keys),
    valueBytes: cacheBytes(asked, OPTIONS.values),
    batch: countOf(numberOf(asked, OPTIONS.batch)) ?? BATCH,
    keepsWindowsWhole: asked.args.some((arg) => WINDOWS_WHOLE.includes(arg)),
    keepsLatent: false,
    host: bytes((PROCESS_MIB + promptCacheMib(asked)) * MiB),
    grows: bytes(promptCacheMib(asked) * MiB),
    perGpu: CUDA_CONTEXT,
  };
}

/** The last one on the command line, else the environment's. */
function textOf({ args, env }: Pick<Asked, "args" | "env">, { flags, variable }: Option): string | undefined {
  const at = args.findLastIndex((arg) => flags.includes(arg));
  return at === -1 ? env[variable] : args[at + 1];
}

function numberOf(asked: Pick<Asked, "args" | "env">, option: Option): number | undefined {
  const text = textOf(asked, option);
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}

const cacheBytes = (asked: Asked, option: Option): number => {
  const type = textOf(asked, option) ?? "f16";
  return (Object.hasOwn(CACHE_BYTES, type) ? CACHE_BYTES[type] : undefined) ?? 2;
};

function isUnified(args: readonly string[], byDefault: boolean): boolean {
  const last = args.findLast((arg) => UNIFIED.includes(arg) || NOT_UNIFIED.includes(arg));
  return last === undefined ? byDefault : UNIFIED.includes(last);
}

/** It fills up to its limit with use, so all of it is counted. Without one, it is no more than what this program sets. */
function promptCacheMib(asked: Asked): number {
  const set = numberOf({ ...asked, env: {} }, OPTIONS.promptCache);
  return set === undefined || set < 0 ? PROMPT_CACHE_MIB : set;
}
