import { HIDDEN, isSecretName, withoutLikelySecrets } from "./secret-forms.ts";

/** Shorter ones are words that stand in every text, such as "true" or a number. */
const SHORTEST_SECRET = 6;

/**
 * Makes a function that takes these secrets out of texts, wherever they stand.
 *
 * @param secrets those of fewer than 6 characters are left alone
 */
export function withoutKnown(secrets: readonly string[]): (text: string) => string {
  const named = [...new Set(secrets)]
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    // A secret that is part of another one must not spoil it.
    .toSorted((a, b) => b.length - a.length)
    .flatMap((secret) => [...new Set([secret, inJson(secret), encodeURIComponent(secret.toWellFormed())])]);
  return (text) => named.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

/** As {@link withoutKnown}, and takes out whatever looks like a secret besides. For texts that leave the house. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const known = withoutKnown(secrets);
  return (text) => withoutLikelySecrets(known(text));
}

/** What an engine said, without its replica's key: some print the options that they were started with. */
export const withoutKey = (text: string, apiKey: string): string =>
  apiKey === "" ? text : text.replaceAll(apiKey, "[its key]");

/** As it stands between the quotes of a JSON text. */
const inJson = (secret: string): string => JSON.stringify(secret).slice(1, -1);

/** A tree of plain values with every secret of it replaced: values under names of secrets, and after options that take one. */
export const withoutSecrets = (value: unknown): unknown => walk(value, () => HIDDEN);

/** The secrets of a tree of plain values, as {@link withoutSecrets} finds them. */
export function secretsIn(value: unknown): readonly string[] {
  const found: string[] = [];
  walk(value, (secret) => {
    found.push(secret);
    return HIDDEN;
  });
  return found;
}

type OnSecret = (secret: string) => string;

function walk(value: unknown, onSecret: OnSecret): unknown {
  if (Array.isArray(value)) return walkList(value as readonly unknown[], onSecret);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => [name, isSecret(name, held) ? onSecret(held) : walk(held, onSecret)]),
  );
}

/** The place of a secret is none itself. */
const isSecret = (name: string, held: unknown): held is string =>
  isSecretName(name) && typeof held === "string" && held !== "" && !held.startsWith("file:");

/** Options of a program: `--api-key`, `x` and `--api-key=x`. */
const walkList = (list: readonly unknown[], onSecret: OnSecret): readonly unknown[] =>
  list.map((item, at) => (typeof item === "string" ? walkWord(item, list[at - 1], onSecret) : walk(item, onSecret)));

function walkWord(word: string, before: unknown, onSecret: OnSecret): string {
  const [, option, held] = /^(--?[\w-]+)=(.+)$/s.exec(word) ?? [];
  if (option !== undefined && isSecret(option, held)) return `${option}=${onSecret(held)}`;
  if (typeof before !== "string" || !/^--?[\w-]+$/.test(before) || word.startsWith("--")) return word;
  return isSecret(before, word) ? onSecret(word) : word;
}
