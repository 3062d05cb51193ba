import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

interface Load {
  readonly port: number;
  readonly key: string;
  readonly streams: number;
  readonly pace: number;
  readonly random: () => number;
}

type Ending = "whole" | "left" | "cut" | "refused" | "unreachable";

/** One of so many clients leaves before its answer is whole. */
const LEAVES = 0.2;
const TOKENS = { least: 20, most: 60 };
const PAUSE_MS = 500;

/** Keeps so many streams open, one after another in each place, and checks each number of each answer. */
export class PacedStreams {
  readonly counts: Record<Ending, number> = { whole: 0, left: 0, cut: 0, refused: 0, unreachable: 0 };
  readonly asked: string[] = [];
  /** What was not as it should be, in words; the same words once. */
  readonly faults = new Map<string, number>();
  open = 0;
  events = 0;
  readonly #load: Load;
  readonly #places: readonly Promise<void>[];
  readonly #ending = new AbortController();

  constructor(load: Load) {
    this.#load = load;
    this.#places = Array.from({ length: load.streams }, () => this.#keepOne());
  }

  /** Begins no further stream and waits for those that run. */
  async finish(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#places);
  }

  fault(words: string): void {
    this.faults.set(words, (this.faults.get(words) ?? 0) + 1);
  }

  async #keepOne(): Promise<void> {
    const { random, pace } = this.#load;
    // All at once would be another test, and so would all that end at once.
    await sleep(random() * TOKENS.least * pace);
    while (!this.#ending.signal.aborted) {
      this.open += 1;
      const ending = await this.#one();
      this.open -= 1;
      this.counts[ending] += 1;
      if (ending !== "whole" && ending !== "left") await sleep(PAUSE_MS);
    }
  }

  #one(): Promise<Ending> {
    const { port, key, pace, random } = this.#load;
    const id = `soak-${String(this.asked.length)}`;
    this.asked.push(id);
    const tokens = TOKENS.least + Math.floor(random() * (TOKENS.most - TOKENS.least));
    const leavesAfter = random() < LEAVES ? random() * tokens * pace : undefined;
    const body = JSON.stringify({
      ...{ model: "soak", messages: [{ role: "user", content: `Count to ${String(tokens)}.` }] },
      ...{ stream: true, max_tokens: tokens, temperature: 0 },
    });
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      authorization: `Bearer ${key}`,
      "x-request-id": id,
    };
    return new Promise((resolve) => {
      let leaving: NodeJS.Timeout | undefined;
      let hasLeft = false;
      const end = (ending: Ending): void => {
        clearTimeout(leaving);
        resolve(hasLeft ? "left" : ending);
      };
      const asking = request({
        port,
        host: "127.0.0.1",
        path: "/v1/chat/completions",
        method: "POST",
        headers,
        agent: false,
      });
      asking.on("error", () => {
        end("unreachable");
      });
      asking.once("finish", () => {
        if (leavesAfter === undefined) return;
        leaving = setTimeout(() => {
          hasLeft = true;
          asking.destroy();
          end("left");
        }, leavesAfter);
      });
      asking.once("response", (response) => {
        const reader = new AnswerReader(tokens);
        response.setEncoding("utf8");
        response.on("data", (text: string) => {
          this.events += reader.read(text);
        });
        response.on("error", () => undefined);
        response.once("close", () => {
          if (hasLeft) return;
          const said = response.statusCode === 200 ? reader.ending() : String(response.statusCode);
          if (said !== "whole") this.fault(response.statusCode === 200 ? said : `refused with ${said}: ${reader.tail}`);
          end(said === "whole" ? "whole" : response.statusCode === 200 ? "cut" : "refused");
        });
      });
      asking.end(body);
    });
  }
}

/** Checks that an answer is "0 1 2 …" and then its end. */
class AnswerReader {
  readonly #tokens: number;
  #next = 0;
  #rest = "";
  #wrong: string | undefined;
  #isDone = false;
  tail = "";

  constructor(tokens: number) {
    this.#tokens = tokens;
  }

  /** Returns how many events were whole. */
  read(text: string): number {
    const events = (this.#rest + text).split("\n\n");
    this.#rest = events.pop() ?? "";
    if (this.#rest.length > 0) this.tail = this.#rest.slice(0, 200);
    for (const event of events) this.#event(event);
    return events.length;
  }

  #event(event: string): void {
    if (event === "data: [DONE]") {
      this.#isDone = true;
      return;
    }
    if (event.includes('"error"')) this.#wrong = `an error event: ${event.slice(0, 200)}`;
    const [, number] = /"content":" ?(\d+)"/.exec(event) ?? [];
    if (number === undefined) return;
    if (Number(number) !== this.#next) this.#wrong ??= `a number that is missing or came twice`;
    this.#next += 1;
  }

  ending(): string {
    if (this.#wrong !== undefined) return this.#wrong;
    if (!this.#isDone) return "an end without [DONE]";
    return this.#next === this.#tokens ? "whole" : "an answer that is too short, with [DONE]";
  }
}
