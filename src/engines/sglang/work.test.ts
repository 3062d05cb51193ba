import { expect, test } from "vitest";
import { work } from "./work.ts";

const GAUGES = `sglang:num_running_reqs{engine_type="unified",model_name="m",tp_rank="0"} 3.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",tp_rank="0"} 1.0
`;
const DONE = `sglang:realtime_tokens_total{mode="decode",model_name="m"} 100.0
sglang:realtime_tokens_total{mode="prefill_compute",model_name="m"} 20.0
sglang:prompt_tokens_total{model_name="m"} 20.0
`;

test.each([
  {
    name: "requests at work and waiting, and every step so far",
    page: GAUGES + DONE,
    want: { requests: 4, done: 140 },
  },
  { name: "before its first request", page: GAUGES, want: { requests: 4, done: 0 } },
  { name: "without metrics", page: "Not Found", want: undefined },
])("$name", ({ page, want }) => {
  expect(work.read(page)).toEqual(want);
});
