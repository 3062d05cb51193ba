import { type Millis, millis } from "../../src/core/ids.ts";
import type { EngineApi } from "../../src/core/engine-api.ts";
import { chunk, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "./raw-upstream.ts";
import { RouterHarness } from "./router-harness.ts";

/** A chunk of a chat, of the engine with that name, as llama-server writes them. */
export const event = (engine: string, choice: object, more: object = {}): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, finish_reason: null, ...choice }], id: `id-${engine}`, created: 1, model: engine, ...more })}\n\n`;
export const role = (engine: string): string => event(engine, { delta: { role: "assistant", content: null } });
export const say = (engine: string, content: string): string => event(engine, { delta: { content } });
export const finish = (engine: string): string => event(engine, { delta: {}, finish_reason: "stop" });
export const counts = (engine: string, prompt: number, completion: number): string =>
  `data: ${JSON.stringify({ choices: [], id: `id-${engine}`, created: 2, model: engine, usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } })}\n\n`;
export const DONE = "data: [DONE]\n\n";

/** What an engine does with a request. */
export type Part = (connection: UpstreamConnection) => Promise<void> | void;

/** Says that, and dies. */
export const dies =
  (...said: readonly string[]): Part =>
  async (connection) => {
    await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk(said.join(""))]));
    connection.end();
  };

/** Says that, each in a piece of its own, and ends as it should. */
export const ends =
  (...said: readonly string[]): Part =>
  async (connection) => {
    await connection.write(STREAM_HEAD);
    for (const text of said) await connection.write(chunk(text));
    await connection.write(LAST_CHUNK);
  };

export interface EngineOptions {
  readonly rescues?: boolean;
  readonly apis?: readonly EngineApi[];
  readonly limits?: { readonly streamComment?: Millis; readonly idle?: Millis };
}

const APIS: readonly EngineApi[] = ["chat", "completions", "continues-last-message"];

interface Site {
  readonly harness: RouterHarness;
  /** What the engines were asked, and where, in turn. */
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
  readonly paths: readonly string[];
}

/** A router before three engines of the model m; whoever is asked first plays the first part, and so on. */
export async function dyingEngines(parts: readonly Part[], options: EngineOptions = {}): Promise<Site> {
  const { apis = APIS, rescues = true, limits = {} } = options;
  const harness = await RouterHarness.start({ rescues, limits: { tick: millis(20), ...limits } });
  harness.apis = apis;
  const [bodies, paths]: [Site["bodies"][number][], string[]] = [[], []];
  const upstreams = await Promise.all(
    Array.from({ length: 3 }, async () =>
      harness.adopt(
        await RawUpstream.onRequest(async (connection, { head, body }) => {
          paths.push(head.split(" ", 2)[1] ?? "");
          bodies.push(JSON.parse(body.toString()) as Site["bodies"][number]);
          await parts[bodies.length - 1]?.(connection);
        }),
      ),
    ),
  );
  await harness.serve({ m: upstreams });
  return { harness, bodies, paths };
}
