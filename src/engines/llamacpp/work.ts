import type { WorkCount } from "../engine.ts";
import { workOnPage } from "../prometheus.ts";

/**
 * The metrics page is written by the same loop that computes: it is late behind a long step, and never comes from a loop that
 * hangs. `n_decode_total` grows with every batch, of prompts and of answers; the token counters only at a request's end.
 */
export const work = workOnPage(readWork);

/** Undefined for a page without these numbers. */
export function readWork(page: string): WorkCount | undefined {
  const value = (name: string): number | undefined => {
    const text = new RegExp(`^llamacpp:${name} ([0-9.e+]+)$`, "m").exec(page)?.[1];
    return text === undefined ? undefined : Number(text);
  };
  const [processing, deferred, done] = [
    value("requests_processing"),
    value("requests_deferred"),
    value("n_decode_total"),
  ];
  if (processing === undefined || done === undefined) return undefined;
  return { requests: processing + (deferred ?? 0), done };
}
