import { fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytes, gpuUuid, millis } from "../core/ids.ts";
import type { Measurement } from "../core/measured-memory.ts";
import { MeasuredMemorySchema } from "./gen/llmgw/v1/memory_pb.js";
import { measurementToWire, memoryFromWire, memoryToWire } from "./measured-memory.ts";

describe("what was measured", () => {
  test("comes back as it was sent", () => {
    const size = fc.maxSafeNat().map(bytes);
    const memory = fc.record({
      host: size,
      gpus: fc.array(fc.record({ uuid: fc.string().map(gpuUuid), bytes: size }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(memory, (value) => {
        const sent = toBinary(MeasuredMemorySchema, memoryToWire(value));
        expect(memoryFromWire(fromBinary(MeasuredMemorySchema, sent))).toEqual(value);
      }),
    );
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 0.5, 2 ** 60])("%s bytes are no number of bytes", (host) => {
    const message = { ...memoryToWire({ host: bytes(1), gpus: [] }), host };
    expect(memoryFromWire(message).host).toBe(0);
  });

  test("a figure of GPUs that is not gone by is told as 0", () => {
    const measurement: Measurement = {
      ...{ source: "s", engine: "vllm 1", launch: "l", gpuType: "L40S", gpus: 1 },
      ...{ host: bytes(2), perGpu: bytes(3), beyond: bytes(0), at: millis(1000) },
    };
    expect(measurementToWire(measurement, { host: 4, perGpu: undefined })).toMatchObject({
      ...{ engine: "vllm 1", gpuType: "L40S", gpus: 1, host: 2, perGpu: 3, hostBooked: 4, perGpuBooked: 0 },
    });
  });
});
