import { fingerprint } from "../../../core/fingerprint.ts";
import { ok } from "../../../core/result.ts";
import type { ModelSource } from "../../../core/source.ts";
import { fromFetch } from "../failure.ts";
import { shardsOf } from "../offer.ts";
import { slug, type WeightSource } from "./source.ts";

/** One file at an address; of a shard, all shards at their addresses beside it. No token is sent anywhere. */
export const httpsSource: WeightSource<ModelSource & { kind: "https" }> = {
  describe({ url, file }, { downloader }, asking) {
    const files = shardsOf(file).map((name) => ({ name, bytes: 0, sha256: undefined }));
    return Promise.resolve(
      ok({
        kind: "remote",
        folder: `https--${slug(new URL(url).hostname)}--${slug(file)}--${fingerprint(url)}`,
        files,
        async fetch({ name }, { target, sha256, signal, onProgress }) {
          const pin = sha256 === undefined ? {} : { sha256 };
          const outcome = await downloader.file({
            url: beside(url, name),
            target,
            signal,
            onProgress,
            pieces: true,
            ...pin,
          });
          if (!outcome.ok) return { ok: false, error: fromFetch(shown(url), outcome.error) };
          const { bytes, sha256: hash, pieces } = outcome.value;
          return ok({ bytes, sha256: hash, pieces });
        },
        async start({ name }, bytes) {
          const start = await downloader.start({ url: beside(url, name), bytes, signal: asking });
          return start.ok ? start : { ok: false, error: fromFetch(shown(url), start.error) };
        },
        settle: () => Promise.resolve(),
      }),
    );
  },
};

function beside(url: string, name: string): string {
  const other = new URL(url);
  const parts = other.pathname.split("/");
  // Kept as it was written where it is the very file: servers differ in what they take for the same address.
  if (decodeURIComponent(parts.at(-1) ?? "") === name) return url;
  other.pathname = [...parts.slice(0, -1), encodeURIComponent(name)].join("/");
  return other.href;
}

/** The query may carry a signature. */
const shown = (url: string): string => url.replace(/[?#].*$/s, "");
