import type { WorkCount } from "../engine.ts";
import { sumOf, sumsOf, workOnPage } from "../prometheus.ts";

/** Of all ranks that tell; of a group that works on the same requests only the first does. */
const REQUESTS = ["sglang:num_running_reqs", "sglang:num_queue_reqs"] as const;
/** The first grows with every step; the others at the first and the last token of a request, in versions without it. */
const DONE = [
  "sglang:realtime_tokens_total",
  "sglang:time_to_first_token_seconds_count",
  "sglang:inter_token_latency_seconds_count",
  "sglang:prompt_tokens_total",
  "sglang:generation_tokens_total",
] as const;

/** The page is written beside the loop that computes, from what that loop last said: a loop that hangs shows as a standstill. */
export const work = workOnPage(readWork);

/** Undefined for a page without these numbers; one that has no work behind it yet lists none of what was done. */
function readWork(page: string): WorkCount | undefined {
  const sums = sumsOf(page);
  const requests = sumOf(sums, REQUESTS);
  return requests === undefined ? undefined : { requests, done: sumOf(sums, DONE) ?? 0 };
}
