import { ok } from "../../../core/result.ts";
import { tinyGguf } from "../../../engines/llamacpp/tiny-gguf.ts";
import { writeFileAtomic } from "../../../platform/files.ts";
import { sha256Of } from "../../../platform/sha256.ts";
import type { WeightSource } from "./source.ts";

/** The model that the program carries: nothing is fetched, it is written down. */
export const tinySource: WeightSource<{ readonly kind: "tiny" }> = {
  describe() {
    const content = tinyGguf();
    const sha256 = sha256Of(content);
    return Promise.resolve(
      ok({
        kind: "remote",
        folder: "tiny",
        isOwn: true,
        files: [{ name: "tiny.gguf", bytes: content.length, sha256 }],
        async fetch(_file, { target }) {
          await writeFileAtomic(target, content);
          return ok({ bytes: content.length, sha256 });
        },
        settle: () => Promise.resolve(),
      }),
    );
  },
};
