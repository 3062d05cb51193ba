const AVX512 = ["avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"] as const;
const HASWELL = ["sse4_2", "avx", "f16c", "fma", "avx2", "bmi2"] as const;
const SKYLAKE = [...HASWELL, ...AVX512] as const;
const ARM_FP16 = ["asimddp", "fphp", "asimdhp"] as const;
const ARM_SVE = [...ARM_FP16, "sve"] as const;

/**
 * The CPU backends that a build with all variants brings, and what each needs of the CPU in the words of /proc/cpuinfo.
 * From the least to the most capable: of those that a machine can run, the last one is the fastest.
 */
const VARIANTS: readonly (readonly [name: string, needs: readonly string[]])[] = [
  ["x64", []],
  ["sse42", ["sse4_2"]],
  ["sandybridge", ["sse4_2", "avx"]],
  ["ivybridge", ["sse4_2", "avx", "f16c"]],
  ["piledriver", ["sse4_2", "avx", "f16c", "fma"]],
  ["haswell", HASWELL],
  ["alderlake", [...HASWELL, "avx_vnni"]],
  ["skylakex", SKYLAKE],
  ["cannonlake", [...SKYLAKE, "avx512vbmi"]],
  ["cascadelake", [...SKYLAKE, "avx512_vnni"]],
  ["icelake", [...SKYLAKE, "avx512vbmi", "avx512_vnni"]],
  ["cooperlake", [...SKYLAKE, "avx512_vnni", "avx512_bf16"]],
  ["zen4", [...SKYLAKE, "avx512vbmi", "avx512_vnni", "avx512_bf16"]],
  ["sapphirerapids", [...SKYLAKE, "avx512vbmi", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8"]],
  ["armv8.0_1", []],
  ["armv8.2_1", ["asimddp"]],
  ["armv8.2_2", ARM_FP16],
  ["armv8.2_3", ARM_SVE],
  ["armv8.6_1", [...ARM_SVE, "i8mm"]],
  ["armv8.6_2", [...ARM_SVE, "i8mm", "sve2"]],
  ["armv9.2_1", [...ARM_SVE, "i8mm", "sme"]],
  ["armv9.2_2", [...ARM_SVE, "i8mm", "sve2", "sme"]],
];

/** The flags of the first CPU in the text of /proc/cpuinfo, x86 or ARM; none when the text has no such line. */
export function readCpuFlags(cpuinfo: string): readonly string[] {
  const [, flags = ""] = /^(?:flags|Features)\s*:(.*)$/m.exec(cpuinfo) ?? [];
  return flags.split(/\s+/).filter((flag) => flag !== "");
}

/**
 * The names among `offered` that a CPU with these flags can run, the fastest first. The last is the most portable, for a
 * machine that turns out to lack what it says it has.
 */
export function cpuVariants(offered: readonly string[], flags: readonly string[]): readonly string[] {
  return VARIANTS.filter(([name, needs]) => offered.includes(name) && needs.every((flag) => flags.includes(flag)))
    .map(([name]) => name)
    .toReversed();
}
