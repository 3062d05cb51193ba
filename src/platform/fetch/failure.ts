import type { Millis } from "../../core/ids.ts";

/**
 * Why nothing was fetched. `message` is for people: it names the address without credentials or query.
 *
 * auth: 401 or 403; trying again changes nothing. not-found: 404 or 410. checksum: the bytes are not those that were
 * announced. no-space: the disk cannot hold the file. stalled: the connection stayed open and silent too often.
 * http: any other answer that is no file. network: no answer. refused: llmgw's own no. aborted: the caller's signal.
 */
export type FetchFailure =
  | {
      readonly kind:
        "auth" | "not-found" | "checksum" | "no-space" | "stalled" | "http" | "network" | "refused" | "aborted";
      readonly message: string;
    }
  | {
      readonly kind: "rate-limited";
      readonly message: string;
      /** Wall clock. No call to that host is made before. */
      readonly retryAt: Millis;
    };

/** The address as it may be shown: no user, password, query or fragment, any of which may be a secret. */
export function shownUrl(url: URL | string): string {
  const parsed = typeof url === "string" ? URL.parse(url) : url;
  return parsed === null ? "(not an address)" : `${parsed.origin}${parsed.pathname}`;
}
