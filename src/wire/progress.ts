import { create } from "@bufbuild/protobuf";
import { bytes } from "../core/ids.ts";
import type { Progress } from "../core/replica-state.ts";
import { ProgressSchema, type Progress as WireProgress } from "./gen/llmgw/v1/common_pb.js";
import { toText } from "./scalar.ts";

export const progressToWire = (progress: Progress): WireProgress =>
  create(ProgressSchema, { ...progress, what: toText(progress.what) });

export const progressFromWire = (message: WireProgress): Progress => ({
  what: message.what,
  bytesDone: bytes(message.bytesDone),
  bytesTotal: bytes(message.bytesTotal),
  bytesPerSecond: message.bytesPerSecond,
});
