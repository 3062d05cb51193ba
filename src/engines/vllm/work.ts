import type { WorkCount } from "../engine.ts";
import { sumOf, sumsOf, workOnPage } from "../prometheus.ts";

/** Each exists once for every engine process behind the one that answers. */
const REQUESTS = ["vllm:num_requests_running", "vllm:num_requests_waiting"] as const;
/** The first grows with every step, whatever kind of step; the others are for models that make vectors. */
const DONE = ["vllm:iteration_tokens_total_count", "vllm:prompt_tokens_total", "vllm:generation_tokens_total"] as const;

/** The page is written beside the loop that computes, from what that loop last said: a loop that hangs shows as a standstill. */
export const work = workOnPage(readWork);

/** Undefined for a page without these numbers. */
function readWork(page: string): WorkCount | undefined {
  const sums = sumsOf(page);
  const requests = sumOf(sums, REQUESTS);
  const done = sumOf(sums, DONE);
  return requests === undefined || done === undefined ? undefined : { requests, done };
}
