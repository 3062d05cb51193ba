import { expect, test } from "vitest";
import { work } from "./work.ts";

const PAGE = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 2.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 1000.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 900.0
vllm:generation_tokens_total{engine="0",model_name="m"} 500.0
vllm:iteration_tokens_total_count{engine="0",model_name="m"} 40.0
`;

test.each([
  { name: "of all engine processes together", page: PAGE, want: { requests: 6, done: 1540 } },
  { name: "statistics turned off", page: "# HELP python_gc_objects\npython_gc 1\n", want: undefined },
  { name: "an error in the page's place", page: '{"error":"Unauthorized"}', want: undefined },
])("$name", ({ page, want }) => {
  expect(work.read(page)).toEqual(want);
});
