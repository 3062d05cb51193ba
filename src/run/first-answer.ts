/** A slow machine may think long about one token; a lost connection is noticed at once. */
const ANSWER_WITHIN_MS = 60_000;
/** The router's own word that no engine answered, or that it has not heard of the model yet. */
const NOT_YET: readonly number[] = [404, 499, 502, 503, 504];

/**
 * Whether an engine answers for the model through the router: asked for one token. Any answer of the engine itself will
 * do, because a model for embeddings refuses to complete a text and serves all the same.
 */
export async function answersThrough(routerUrl: string, model: string, signal: AbortSignal): Promise<boolean> {
  const body = JSON.stringify({ model, max_tokens: 1, prompt: "Hi" });
  try {
    const response = await fetch(`${routerUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    });
    await response.body?.cancel();
    return !NOT_YET.includes(response.status);
  } catch {
    // The caller looks again, and at its own signal.
    return false;
  }
}
