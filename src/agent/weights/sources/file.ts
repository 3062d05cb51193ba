import { basename, dirname, join } from "node:path";
import { err, ok } from "../../../core/result.ts";
import type { ModelSource } from "../../../core/source.ts";
import { findFile } from "../../../platform/found-files.ts";
import { passing } from "../failure.ts";
import { shardsOf } from "../offer.ts";
import type { WeightSource } from "./source.ts";

/** A file on this machine, used where it is; a shard brings the other shards beside it. */
export const fileSource: WeightSource<ModelSource & { kind: "file" }> = {
  async describe({ path }) {
    const folder = dirname(path);
    const found = await Promise.all(shardsOf(basename(path)).map((name) => findFile(join(folder, name))));
    const files = found.flatMap((file) =>
      file === undefined || file.bytes === 0 ? [] : [{ name: file.name, bytes: file.bytes, sha256: undefined }],
    );
    if (!files.some(({ name }) => name === basename(path))) {
      // A mount may still come.
      return err(passing("not-found", `file:${path}: there is no such file on this node, or it is empty`));
    }
    return ok({ kind: "local", folder, files });
  },
};
