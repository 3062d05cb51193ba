import type { KeyGrant } from "../../core/client-key.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { LimitName } from "../../routing/limits/decide.ts";
import { LONGEST_RETRY_AFTER_SECONDS } from "../../routing/retry-after.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { type Later, laterHeaders } from "../refusals.ts";
import { masked } from "./shown-key.ts";

const CHALLENGE = ["www-authenticate", "Bearer"] as const;
const KEYS_SOON: Millis = millis(1_000);

const unauthenticated = (message: string): Later => ({
  refusal: { code: "UNAUTHENTICATED", message },
  headers: CHALLENGE,
});

export const noKey = (): Later =>
  unauthenticated('No API key was given. Send one in the header "Authorization: Bearer KEY" or "x-api-key: KEY".');

/** Clients look for the first words. */
export const wrongKey = (key: string): Later => unauthenticated(`Incorrect API key provided: ${masked(key)}.`);

export const expiredKey = ({ name }: KeyGrant): Later =>
  unauthenticated(`The API key "${name}" has expired. Ask whoever runs this endpoint for a new one.`);

/** The router has just started: nobody can be told from anybody yet. */
export const keysNotKnown = (): Later => ({
  refusal: { code: "KEYS_NOT_KNOWN", message: "This router has not heard yet which API keys there are." },
  headers: laterHeaders(KEYS_SOON, true),
});

/** The same whether there is such a model or not: names are nobody's business who may not use them. */
export const modelNotAllowed = (model: string): Later => ({
  refusal: {
    code: "FORBIDDEN",
    message: `This API key may not use the model \`${model}\`. GET /v1/models lists those that it may.`,
    param: "model",
  },
  headers: [],
});

interface LimitWords {
  readonly code: ErrorCode;
  readonly words: (limit: number) => string;
}

const LIMITS: Readonly<Record<LimitName, LimitWords>> = {
  requestsPerMinute: { code: "RATE_LIMITED", words: (n) => `Rate limit reached: ${String(n)} requests per minute` },
  tokensPerMinute: { code: "RATE_LIMITED", words: (n) => `Rate limit reached: ${String(n)} tokens per minute` },
  concurrency: { code: "RATE_LIMITED", words: (n) => `Rate limit reached: ${String(n)} requests at the same time` },
  tokensPerDay: { code: "BUDGET_USED_UP", words: (n) => `The budget is used up: ${String(n)} tokens per day` },
  tokensPerMonth: { code: "BUDGET_USED_UP", words: (n) => `The budget is used up: ${String(n)} tokens per month` },
};

/** What is over a limit, and when to come again. A wait that is longer than clients believe is none: they are to give up. */
export function overLimit({ name, limits }: KeyGrant, limit: LimitName, wait: Millis): Later {
  const { code, words } = LIMITS[limit];
  const inSeconds = Math.max(1, Math.ceil(wait / 1000));
  const message = `${words(limits[limit] ?? 0)} for the API key "${name}". Try again in ${waitInWords(inSeconds)}.`;
  return { refusal: { code, message }, headers: laterHeaders(wait, inSeconds <= LONGEST_RETRY_AFTER_SECONDS) };
}

function waitInWords(seconds: number): string {
  if (seconds <= 120) return `${String(seconds)} s`;
  const hours = seconds / 3600;
  return hours <= 48 ? `${hours.toFixed(1)} hours` : `${(hours / 24).toFixed(1)} days`;
}
