import { create } from "@bufbuild/protobuf";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { ExplainResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { toTimestamp } from "../../wire/scalar.ts";
import { explainPage } from "./explain-page.ts";

const GIB = 2 ** 30;
const NOW = 600_000;

test("what was measured stands below the estimates: of the replica itself, and of all that were started like it", () => {
  const at = toTimestamp(NOW - 120_000);
  const answer = create(ExplainResponseSchema, {
    ...{ profile: "llama", replica: "llama-x1", state: "ready", reason: "serving", source: "s", origin: "its header" },
    taken: [
      {
        node: "a",
        memory: {
          host: GIB,
          gpus: [
            { uuid: "g0", bytes: 6 * GIB },
            { uuid: "g1", bytes: 7 * GIB },
          ],
        },
      },
    ],
    measured: [
      { engine: "llama.cpp b7", host: 5 * GIB, hostBooked: 6.5 * GIB, at },
      {
        engine: "vllm 1",
        gpuType: "L40S",
        gpus: 2,
        host: GIB,
        perGpu: 7 * GIB,
        hostBooked: 1.1 * GIB,
        perGpuBooked: 7.7 * GIB,
        at,
      },
      { engine: "sglang 1", gpuType: "L40S", gpus: 1, host: GIB, perGpu: 7 * GIB, hostBooked: 1.1 * GIB, at },
    ],
  });
  const page = explainPage(answer, { now: millis(NOW), colours: pc.createColors(false) });
  expect(page).toContain("  Measured  13 GiB on 2 GPUs, 1.0 GiB of the host\n");
  expect(page.slice(page.indexOf("MEASURED ON"))).toMatchInlineSnapshot(`
    "MEASURED ON  WITH          EACH GPU     HOST   BOOKED NEXT  HOST NEXT  AGO
    CPU          llama.cpp b7         -  5.0 GiB             -    6.5 GiB   2m
    2 × L40S     vllm 1         7.0 GiB  1.0 GiB       7.7 GiB    1.1 GiB   2m
    1 × L40S     sglang 1       7.0 GiB  1.0 GiB  the estimate    1.1 GiB   2m

    No node has joined yet.
    "
  `);
});
