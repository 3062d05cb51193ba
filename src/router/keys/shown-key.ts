import type { ClientHeaders } from "../client/client-headers.ts";

const BEARER = /^bearer +(\S.*)$/i;
/** Shorter keys are not shown at all: a few characters of them are too large a part. */
const SHORTEST_SHOWN = 20;
const SHOWN_END = 4;

/** The key in the Authorization header; undefined: there is none. */
export const bearerOf = ({ authorization }: ClientHeaders): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]?.trimEnd();

/** The key as clients of Messages send it. */
export function headerKeyOf(headers: ClientHeaders): string | undefined {
  const key = headers["x-api-key"];
  return typeof key === "string" && key !== "" ? key : undefined;
}

/** Enough of a key that its owner recognises it, and no more. */
export function masked(key: string): string {
  if (key.length < SHORTEST_SHOWN || !/^[\w-]+$/.test(key)) return "***";
  const start = key.startsWith("sk-") ? "sk-" : "";
  return `${start}***${key.slice(-SHOWN_END)}`;
}
