import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { bytes } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import { readTextIfThere, writeFileAtomic } from "../../platform/files.ts";
import { InventorySchema } from "../../wire/gen/llmgw/v1/common_pb.js";
import { gpuFromWire, gpuToWire } from "../../wire/inventory.ts";

/** The GPUs that were known last, kept over a restart of the agent: a driver that cannot be asked is no machine without GPUs. */
export interface LastKnown {
  load(): Promise<readonly Gpu[]>;
  save(gpus: readonly Gpu[]): Promise<void>;
}

export function lastKnownIn(path: string): LastKnown {
  let written = "";
  return {
    async load() {
      try {
        const text = await readTextIfThere(path);
        return text === undefined ? [] : fromJsonString(InventorySchema, text).gpus.map(gpuFromWire);
      } catch {
        // A file that cannot be believed says nothing; the next look that succeeds writes it anew.
        return [];
      }
    },
    async save(gpus) {
      // Free memory moves all the time and is not asked of this file.
      const lasting = gpus.map((gpu) => gpuToWire({ ...gpu, memoryFree: bytes(0), problem: undefined }));
      const text = toJsonString(InventorySchema, create(InventorySchema, { gpus: lasting }));
      if (text === written) return;
      try {
        await writeFileAtomic(path, text);
        written = text;
      } catch {
        // A full disk makes this memory shorter and nothing else; it is tried again at the next look.
      }
    },
  };
}
