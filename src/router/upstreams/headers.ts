/**
 * What an endpoint elsewhere is told of a client's request. A list of what may go: headers of a client's own network, of its
 * users and of its accounts are none of a stranger's business, and no list of ours would know them all.
 */
const FORWARDED: ReadonlySet<string> = new Set([
  "accept",
  "accept-language",
  "content-type",
  "user-agent",
  "idempotency-key",
  "anthropic-version",
  "anthropic-beta",
  "openai-beta",
]);

/** What of its answer's headers the client is told: what the body is, and whether to ask again. */
const RELAYED: ReadonlySet<string> = new Set([
  "content-type",
  "content-disposition",
  "content-encoding",
  "content-language",
  "x-should-retry",
]);

/** Header lines as they came. */
export function forwardedElsewhere(rawHeaders: readonly string[]): string {
  let lines = "";
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (FORWARDED.has(name.toLowerCase())) lines += `${name}: ${rawHeaders[index + 1] ?? ""}\r\n`;
  }
  return lines;
}

/** The name is in lower case. */
export const isRelayedFromElsewhere = (name: string): boolean => RELAYED.has(name);
