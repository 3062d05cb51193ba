import fc from "fast-check";
import { expect, test } from "vitest";
import { sumOf, sumsOf } from "./prometheus.ts";

const PAGE = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b"} 3.0
vllm:num_requests_running{engine="1",model_name="a b"} 2.0
plain 1e3
odd{x="y"} NaN
`;

test("metrics are summed over their labels", () => {
  const sums = sumsOf(PAGE);
  expect(Object.fromEntries(sums)).toEqual({ "vllm:num_requests_running": 5, plain: 1000 });
  expect(sumOf(sums, ["plain", "vllm:num_requests_running", "missing"])).toBe(1005);
  expect(sumOf(sums, ["missing"])).toBeUndefined();
});

test("any text is a page", () => {
  fc.assert(
    fc.property(fc.string(), (page) => {
      for (const value of sumsOf(page).values()) expect(Number.isFinite(value)).toBe(true);
    }),
  );
});
