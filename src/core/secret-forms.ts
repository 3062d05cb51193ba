// Names of counts and of programs' tokenizers have "token" in them as well.
const SECRET_NAME =
  /(token(?!i[sz]|s($|[_-]))|secret|passw(or)?d|passphrase|credential|authorization|(api|access|private|secret|auth|hmac)[-_]?key|(^|[_-])(key|auth|pat|sig|signature)$)/i;
const HARMLESS_NAME =
  /(^|[-_])(max|min|num|n|per|bos|eos|pad|unk|stop|think(ing)?|image|special|chat|draft)[-_]?token/i;

/** Whether people keep a secret under this name: of an environment variable, an option or a key of a file. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);

/** What stands in a secret's place. */
export const HIDDEN = "[hidden]";

// Every repetition has a bound or begins where a word begins, so that no text takes long.

/** What looks like a secret by itself; the first group stays. */
const FORMS: readonly RegExp[] = [
  /()-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|$)/g,
  /(?<![\w-])(sk-|hf_|ghp_|github_pat_|glpat-|xox[abp]-|llmgw-(?:join|user)-)[\w-]{8,}(?:\.[\w-]{20,})?/g,
  /()\bAKIA[0-9A-Z]{16}\b/g,
  /()(?<![\w-])eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{0,1000}/g,
  /\b((?:Bearer|Basic)\s{1,4})[\w.~+/=-]{6,}/gi,
];

/** Without one of these a text has none of the forms: nearly every line of a log. */
const MARK = /-----begin |sk-|hf_|ghp_|github_pat_|glpat-|xox|llmgw-join-|llmgw-user-|akia|eyj|bearer|basic/i;

/** The user and password of an address, up to its @. */
const IN_ADDRESS = /(?<![\w+.-])([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"']{1,300}(?=@)/gi;

/** A name, what stands between it and its value, and how far a value goes. */
type Named = readonly [name: RegExp, value: RegExp];

const START = String.raw`(?<![\w-])`;
/** Quotes and colons of JSON, also of JSON in a text of JSON. */
const QUOTE = String.raw`\\{0,8}["']?`;
const ASSIGNS = String.raw`${QUOTE}\s{0,4}[=:]\s{0,4}${QUOTE}`;
const NEXT = String.raw`${QUOTE},\s{0,4}${QUOTE}|\s{1,4}${QUOTE}`;
const WORD = /[^\s"',\\)]+/y;

const NAMED: readonly Named[] = [
  [/[?&]([\w.-]{1,60})=/g, /[^&\s"'\\#]+/y],
  // `--api-key x` and `"--api-key", "x"`; then `HF_TOKEN=x` and `"api_key": "x"`.
  [new RegExp(String.raw`${START}(--?[a-z][\w-]{0,60})(?:${ASSIGNS}|${NEXT})`, "gi"), WORD],
  [new RegExp(String.raw`${START}([A-Za-z][\w-]{0,60})${ASSIGNS}`, "g"), WORD],
];

/** Values go whose name says that they are secret. A value is only looked at then: it may hold the next name. */
function withoutNamed(text: string, [name, value]: Named): string {
  let kept = "";
  let from = 0;
  for (const match of text.matchAll(name)) {
    const start = match.index + match[0].length;
    if (start < from || !isSecretName(match[1] ?? "")) continue;
    value.lastIndex = start;
    const held = value.exec(text)?.[0];
    if (held === undefined || isNoSecret(held)) continue;
    kept += text.slice(from, start) + HIDDEN;
    from = start + held.length;
  }
  return kept + text.slice(from);
}

/** An option after an option holds nothing, and neither does a word that says what kind of value it is. */
const isNoSecret = (value: string): boolean => /^(-|file:|\[|(true|false|null|undefined|none|\d{1,5})$)/i.test(value);

/** The text with everything replaced that can be nothing but a secret: keys of known makers, passwords in addresses. */
export function withoutSecretForms(text: string): string {
  const rest = MARK.test(text) ? FORMS.reduce((before, form) => before.replace(form, `$1${HIDDEN}`), text) : text;
  // Each word may begin an address, so looking for one costs more than all other forms; most lines of a log have none.
  return rest.includes("://") ? rest.replace(IN_ADDRESS, `$1${HIDDEN}`) : rest;
}

/** The same, and values under names of secrets: now and then that is a word too many. */
export const withoutLikelySecrets = (text: string): string =>
  NAMED.reduce((rest, named) => withoutNamed(rest, named), withoutSecretForms(text));
