import { describe, expect, test } from "vitest";
import { cpuVariants, readCpuFlags } from "./cpu-variant.ts";

const X64 = [
  ...["alderlake", "cannonlake", "cascadelake", "cooperlake", "haswell", "icelake", "ivybridge", "piledriver"],
  ...["sandybridge", "sapphirerapids", "skylakex", "sse42", "x64", "zen4"],
];
const ARM = ["armv8.0_1", "armv8.2_1", "armv8.2_2", "armv8.2_3", "armv8.6_1", "armv8.6_2", "armv9.2_1", "armv9.2_2"];
const haswell = "sse4_2 avx f16c fma avx2 bmi2";
const skylake = `${haswell} avx512f avx512cd avx512bw avx512dq avx512vl`;

describe("cpuVariants", () => {
  test.each([
    { name: "a CPU of 2004", offered: X64, flags: "sse2", best: "x64" },
    { name: "without AVX", offered: X64, flags: "sse4_2", best: "sse42" },
    { name: "B69 AVX but neither F16C nor AVX2", offered: X64, flags: "sse4_2 avx", best: "sandybridge" },
    { name: "B69 AVX2 hidden by a hypervisor", offered: X64, flags: "sse4_2 avx f16c fma bmi2", best: "piledriver" },
    { name: "Haswell", offered: X64, flags: haswell, best: "haswell" },
    { name: "Alder Lake", offered: X64, flags: `${haswell} avx_vnni`, best: "alderlake" },
    { name: "Skylake-X", offered: X64, flags: skylake, best: "skylakex" },
    { name: "Zen 4", offered: X64, flags: `${skylake} avx512vbmi avx512_vnni avx512_bf16`, best: "zen4" },
    {
      name: "Sapphire Rapids",
      offered: X64,
      flags: `${skylake} avx512vbmi avx512_vnni avx512_bf16 amx_tile amx_int8 amx_bf16`,
      best: "sapphirerapids",
    },
    { name: "a build with fewer variants", offered: ["x64", "haswell"], flags: skylake, best: "haswell" },
    { name: "Raspberry Pi 4", offered: ARM, flags: "fp asimd evtstrm crc32 cpuid", best: "armv8.0_1" },
    { name: "Graviton 2", offered: ARM, flags: "fp asimd fphp asimdhp asimddp", best: "armv8.2_2" },
    { name: "Grace", offered: ARM, flags: "fp asimd fphp asimdhp asimddp sve sve2 i8mm", best: "armv8.6_2" },
    { name: "names that nobody knows", offered: ["future9"], flags: skylake, best: undefined },
  ])("$name: $best", ({ offered, flags, best }) => {
    expect(cpuVariants(offered, flags.split(" "))[0]).toBe(best);
  });

  test("the most portable comes last", () => {
    expect(cpuVariants(X64, skylake.split(" ")).at(-1)).toBe("x64");
  });
});

test.each([
  {
    text: "processor\t: 0\nflags\t\t: fpu sse4_2 avx\nbugs\t\t: spectre\n\nprocessor\t: 1\nflags\t\t: other\n",
    want: ["fpu", "sse4_2", "avx"],
  },
  { text: "processor\t: 0\nFeatures\t: fp asimd\n", want: ["fp", "asimd"] },
  { text: "", want: [] },
])("flags of the first CPU", ({ text, want }) => {
  expect(readCpuFlags(text)).toEqual(want);
});
