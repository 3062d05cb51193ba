import { messageOf } from "../core/errors.ts";
import { parseSource } from "../core/source.ts";
import { createTransport } from "../platform/fetch/transport.ts";

/** Long enough for a slow answer, short enough to wait for before falling back. */
const ANSWER_WITHIN_MS = 5000;
const HUB = "https://huggingface.co";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Why a file on the Hub cannot be had from here, found out by one small request; undefined when it can, or when the source
 * is no file on the Hub. Fetching tries again for minutes, which is right for weights that a person asked for and wrong
 * for the first of several samples.
 */
export async function whyNotOnHub(source: string, env: Env): Promise<string | undefined> {
  const parsed = parseSource(source);
  if (!parsed.ok || parsed.value.kind !== "hf" || parsed.value.file === undefined) return undefined;
  const { repo, file, revision = "main" } = parsed.value;
  const base = (env["HF_ENDPOINT"] || HUB).replace(/\/+$/, "");
  const url = URL.parse(`${base}/${repo}/resolve/${encodeURIComponent(revision)}/${file}`);
  if (url === null) return `HF_ENDPOINT is no address: ${base}`;
  const transport = createTransport(env);
  try {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const { statusCode, body } = await transport.send({ url, method: "HEAD", headers: {}, signal });
    await body.dump();
    return statusCode < 400 ? undefined : `${url.origin} answered ${String(statusCode)}`;
  } catch (error) {
    return `${url.origin} cannot be reached: ${messageOf(error)}`;
  } finally {
    await transport.close();
  }
}
