import { err, ok } from "../../../core/result.ts";
import type { ModelSource } from "../../../core/source.ts";
import { filesBelow } from "../../../platform/found-files.ts";
import { passing } from "../failure.ts";
import type { WeightSource } from "./source.ts";

/** Deep enough for `quantisation/shard.gguf` and what packers put around it. */
export const MODEL_DEPTH = 3;

/** A folder on this machine, used where it is. Empty files are taken for missing: a copy that is only begun looks like that. */
export const dirSource: WeightSource<ModelSource & { kind: "dir" }> = {
  async describe({ path }) {
    const found = await filesBelow(path, MODEL_DEPTH);
    const files = found.flatMap(({ name, bytes }) => (bytes === 0 ? [] : [{ name, bytes, sha256: undefined }]));
    if (files.length === 0) {
      return err(passing("not-found", `dir:${path}: there is no such folder on this node, or nothing in it`));
    }
    return ok({ kind: "local", folder: path, files });
  },
};
