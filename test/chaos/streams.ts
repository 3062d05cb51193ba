import { setTimeout as sleep } from "node:timers/promises";
import { PROFILE } from "./site.ts";

/** What became of the streams so far. */
export interface StreamCounts {
  readonly whole: number;
  readonly tokens: number;
  /** Refused before their first byte, as while no route is known: asked again, nothing was lost. */
  readonly refused: number;
  /** What was begun and did not come to its proper end, with how. */
  readonly cut: readonly string[];
}

interface Load {
  readonly url: string;
  readonly streams: number;
  readonly tokensEach: number;
}

/** Keeps so many streams running, one after the other in each place, until told to end. */
export class Streams {
  readonly #load: Load;
  readonly #places: readonly Promise<void>[];
  #ending = false;
  #whole = 0;
  #refused = 0;
  #running = 0;
  readonly #cut: string[] = [];

  constructor(load: Load) {
    this.#load = load;
    this.#places = Array.from({ length: load.streams }, () => this.#keepOne());
  }

  get counts(): StreamCounts {
    const { tokensEach } = this.#load;
    return { whole: this.#whole, tokens: this.#whole * tokensEach, refused: this.#refused, cut: this.#cut };
  }

  /** Streams that have had their first byte and not their end. */
  get running(): number {
    return this.#running;
  }

  /** Begins no further stream and waits for those that run. */
  async finish(): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#places);
  }

  async #keepOne(): Promise<void> {
    while (!this.#ending) {
      const begunAt = performance.now();
      let told = 0;
      const end = await this.#one(() => {
        if (told === 0) this.#running += 1;
        told += 1;
      }).catch((error: unknown) => (told === 0 ? ("refused" as const) : `broken: ${String(error)}`));
      if (told > 0) this.#running -= 1;
      if (end === "whole") this.#whole += 1;
      else if (end === "refused") {
        this.#refused += 1;
        await sleep(200);
      } else
        this.#cut.push(
          `after ${String(told)} pieces and ${String(Math.round(performance.now() - begunAt))} ms, ${end}`,
        );
    }
  }

  /** "whole", "refused", or how it ended otherwise. */
  async #one(onPiece: () => void): Promise<string> {
    const { url, tokensEach } = this.#load;
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...{ model: PROFILE, messages: [{ role: "user", content: "Hello" }], max_tokens: tokensEach },
        ...{ stream: true, ignore_eos: true, stream_options: { include_usage: true } },
      }),
    });
    if (response.body === null || response.status !== 200) {
      await response.body?.cancel();
      return "refused";
    }
    const decoder = new TextDecoder();
    let tail = "";
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      onPiece();
      tail = (tail + decoder.decode(chunk, { stream: true })).slice(-2000);
    }
    const isWhole =
      tail.trimEnd().endsWith("data: [DONE]") && tail.includes(`"completion_tokens":${String(tokensEach)}`);
    return isWhole ? "whole" : `ended with: ${tail.slice(-300)}`;
  }
}
