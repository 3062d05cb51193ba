import { create } from "@bufbuild/protobuf";
import { bytes, gpuUuid } from "../core/ids.ts";
import type { MeasuredMemory, Measurement, NodeMemory } from "../core/measured-memory.ts";
import {
  MeasuredMemorySchema,
  type Measurement as WireMeasurement,
  MeasurementSchema,
  type MeasuredMemory as WireMeasuredMemory,
  type NodeMemory as WireNodeMemory,
  NodeMemorySchema,
} from "./gen/llmgw/v1/memory_pb.js";
import { asCount, toText, toTimestamp, toUint32 } from "./scalar.ts";

export const memoryToWire = ({ host, gpus }: MeasuredMemory): WireMeasuredMemory =>
  create(MeasuredMemorySchema, { host, gpus: gpus.map(({ uuid, bytes: held }) => ({ uuid, bytes: held })) });

export const memoryFromWire = ({ host, gpus }: WireMeasuredMemory): MeasuredMemory => ({
  host: bytes(asCount(host)),
  gpus: gpus.map(({ uuid, bytes: held }) => ({ uuid: gpuUuid(uuid), bytes: bytes(asCount(held)) })),
});

export const nodeMemoryToWire = ({ node, memory }: NodeMemory): WireNodeMemory =>
  create(NodeMemorySchema, { node, memory: memoryToWire(memory) });

/** What is booked for the next one like it instead of the estimate; undefined: the estimate. */
interface Booked {
  readonly host: number;
  readonly perGpu: number | undefined;
}

export const measurementToWire = (measurement: Measurement, booked: Booked): WireMeasurement =>
  create(MeasurementSchema, {
    engine: toText(measurement.engine),
    gpuType: toText(measurement.gpuType),
    gpus: toUint32(measurement.gpus),
    host: measurement.host,
    perGpu: measurement.perGpu,
    hostBooked: booked.host,
    perGpuBooked: booked.perGpu ?? 0,
    at: toTimestamp(measurement.at),
  });
