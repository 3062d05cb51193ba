import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redactor, secretsIn, withoutKnown, withoutSecrets } from "./redact.ts";
import { HIDDEN, isSecretName, withoutSecretForms } from "./secret-forms.ts";

describe("names", () => {
  test.each([
    "HF_TOKEN",
    "token",
    "join_token",
    "api_key",
    "apiKey",
    "OPENAI_API_KEY",
    "VLLM_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "--api-key",
    "--hf-token",
    "PGPASSWORD",
    "DB_PASSWD",
    "authorization",
    "ssh_key",
    "GOOGLE_APPLICATION_CREDENTIALS",
  ])("%s holds a secret", (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.each([
    "TOKENIZERS_PARALLELISM",
    "max_tokens",
    "--max-num-batched-tokens",
    "eos_token",
    "tokens",
    "KEEP_ALIVE",
    "keyboard",
    "VLLM_LOGGING_LEVEL",
    "monkey",
    "kv_cache",
    "kv_heads",
    "num_key_value_heads",
  ])("%s does not", (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

describe("trees of values", () => {
  const profile = {
    name: "a",
    env: { HF_TOKEN: "hf_secretsecretsecret", VLLM_LOGGING_LEVEL: "INFO", MY_PASSWORD: "x y" },
    args: ["--api-key", "abcdef", "--hf-token=ghijkl", "--max-tokens", "64", "-v"],
    api_key: "file:/etc/key",
    list: [{ token: "deep" }],
    token: 7,
  };

  test("values under such names and after such options are replaced, all else stays", () => {
    expect(withoutSecrets(profile)).toEqual({
      name: "a",
      env: { HF_TOKEN: HIDDEN, VLLM_LOGGING_LEVEL: "INFO", MY_PASSWORD: HIDDEN },
      args: ["--api-key", HIDDEN, `--hf-token=${HIDDEN}`, "--max-tokens", "64", "-v"],
      api_key: "file:/etc/key",
      list: [{ token: HIDDEN }],
      token: 7,
    });
  });

  test("what was replaced can be asked for", () => {
    expect(secretsIn(profile)).toEqual(["hf_secretsecretsecret", "x y", "abcdef", "ghijkl", "deep"]);
  });
});

describe("texts", () => {
  const hide = redactor([]);

  test.each([
    ["a client's key", "401 for sk-llmgw-x7Kd2qAbCdEf123456", "sk-llmgw"],
    ["a Hugging Face token", "token hf_AbCdEfGhIjKlMnOpQrSt is no good", "AbCdEfGhIj"],
    ["a header", "Authorization: Bearer abc.def-123", "abc.def"],
    ["a proxy with a password", "via http://bob:hunter22@proxy:3128/", "hunter22"],
    ["a store's address", "postgres://llmgw:hunter22@db/llmgw", "hunter22"],
    ["a signed URL", "GET https://x/y?X-Amz-Signature=deadbeef01&a=1", "deadbeef01"],
    ["an environment", "HF_TOKEN=abcdef123 LANG=C", "abcdef123"],
    ["an exported variable in quotes", 'export API_KEY="abcdef123"', "abcdef123"],
    ["an option", "llama-server --api-key abcdef123 --port 1", "abcdef123"],
    ["an option with =", "--api-key=abcdef123", "abcdef123"],
    ["a list of options in JSON", '["--api-key","abcdef123"]', "abcdef123"],
    ["a list of options in Python", "['--api-key', 'abcdef123']", "abcdef123"],
    ["Python's own form of arguments", "args: Namespace(api_key='abcdef123', port=1)", "abcdef123"],
    ["JSON", '{"api_key": "abcdef123"}', "abcdef123"],
    ["JSON in JSON", '{"manifest":"{\\"env\\":{\\"HF_TOKEN\\":\\"abcdef123\\"}}"}', "abcdef123"],
    ["YAML", "join_token: abcdef123", "abcdef123"],
    [
      "a join token",
      "used llmgw-join-aaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
      "aaaaaaaa",
    ],
    ["a private key", "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----\n", "MIIabc"],
    ["a private key that was cut off", "-----BEGIN EC PRIVATE KEY-----\nMIIabc\n", "MIIabc"],
  ])("%s", (_, text, secret) => {
    expect(text).toContain(secret);
    expect(hide(text)).not.toContain(secret === "sk-llmgw" ? "x7Kd2q" : secret);
    expect(hide(text)).toContain(HIDDEN);
  });

  test.each([
    "--max-tokens 64 --ctx-size 4096",
    "tokens: 12, prompt_tokens=7",
    'llmgw_router_tokens_total{model="m",kind="prompt"} 5',
    "key is missing",
    "the token was refused",
    "https://huggingface.co/a/b?download=true",
    '{"token": null, "eos_token": "</s>"}',
    "mail me at a@b.example",
  ])("stays as it is: %s", (text) => {
    expect(hide(text)).toBe(text);
  });

  test("known secrets go wherever they stand, in whatever form", () => {
    const secret = 'p"w/ö x';
    const told = redactor([secret, "p", "abcdef", "abcdefgh"])(
      `${secret} ${JSON.stringify({ note: secret })} ?q=${encodeURIComponent(secret)} p abcdefgh`,
    );
    expect(told).toBe(`${HIDDEN} {"note":"${HIDDEN}"} ?q=${HIDDEN} p ${HIDDEN}`);
  });

  test("names alone make nothing a secret for those who only look at forms", () => {
    expect(withoutSecretForms("cache_key=abcdef password: x Bearer abcdefgh")).toBe(
      `cache_key=abcdef password: x Bearer ${HIDDEN}`,
    );
    expect(withoutKnown(["abcdef"])("key=abcdef")).toBe(`key=${HIDDEN}`);
  });

  test("whatever surrounds it, a known secret is gone, and a second look changes nothing", () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[\w-]{12,40}$/), fc.string(), (before, secret, after) => {
        fc.pre(!HIDDEN.includes(secret));
        const out = redactor([secret])(before + secret + after);
        expect(out).not.toContain(secret);
        expect(redactor([secret])(out)).toBe(out);
      }),
    );
  });

  test("no text makes it slow", () => {
    const texts = [
      "a".repeat(200_000),
      "--".repeat(100_000),
      "x=".repeat(100_000),
      `${"a-".repeat(100_000)}=`,
      "://".repeat(60_000),
      "?a".repeat(100_000),
    ];
    for (const text of texts) expect(hide(text)).toBe(text);
  });
});
