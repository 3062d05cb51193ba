import { systemClock } from "../../../platform/clock.ts";
import type { Call, CommandSpec, OptionSpec } from "../../command.ts";
import { interrupted } from "../../interrupted.ts";
import { canRedraw } from "../../io.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { Redraw } from "../../redraw.ts";
import { benchPage } from "../../render/bench-page.ts";
import { clientKey, ROUTER_OPTIONS } from "../client-key.ts";
import { lookingNow } from "../listing.ts";
import { knownName } from "../names.ts";
import { isDocument, outputOf, printDocument } from "../output.ts";
import { routerUrlFor } from "../router-url.ts";
import { type Session, withSession } from "../session.ts";
import { runLoad } from "./load.ts";
import { benchPrompt } from "./prompt.ts";
import { summarise } from "./summary.ts";

const USUAL = { concurrency: 4, requests: 32, promptTokens: 256, maxTokens: 64 };

const LOAD_OPTIONS: readonly OptionSpec[] = [
  { flags: "--concurrency <n>", doc: `requests at the same time (default: ${String(USUAL.concurrency)})` },
  { flags: "--requests <n>", doc: `how many in all (default: ${String(USUAL.requests)})` },
  { flags: "--prompt-tokens <n>", doc: `about so long is each prompt (default: ${String(USUAL.promptTokens)})` },
  { flags: "--max-tokens <n>", doc: `end each answer after so many (default: ${String(USUAL.maxTokens)})` },
  { flags: "--same-prompt", doc: "all prompts are the same, so that caches of the engines help" },
];

export const bench: CommandSpec = {
  name: "bench",
  summary: "send a model requests and measure the time to the first token, between tokens, and the rate",
  details:
    "Through the router, as clients do. Ctrl-C ends it early and shows what was measured. Exit code 1 when a request failed.",
  arguments: [{ form: "<model>", doc: "a name from `llmgw ctl models`", completes: ["model"] }],
  options: [...LOAD_OPTIONS, ...ROUTER_OPTIONS, OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl bench qwen3-32b", doc: "32 requests, 4 at a time" },
    {
      line: "llmgw ctl bench qwen3-32b --concurrency 32 --requests 500 --prompt-tokens 2000 --max-tokens 200",
      doc: "something like work",
    },
    { line: "llmgw ctl bench qwen3-32b -o json", doc: "for scripts" },
  ],
  run: (call) => {
    const asked = askedOf(call);
    return withSession(call, (session) => benchModel(call, session, asked));
  },
};

type Asked = typeof USUAL;

const askedOf = ({ flags }: Call): Asked => ({
  concurrency: flags.integer("concurrency", 1) ?? USUAL.concurrency,
  requests: flags.integer("requests", 1) ?? USUAL.requests,
  promptTokens: flags.integer("prompt-tokens", 1) ?? USUAL.promptTokens,
  maxTokens: flags.integer("max-tokens", 1) ?? USUAL.maxTokens,
});

async function benchModel(call: Call, session: Session, asked: Asked): Promise<number> {
  const model = await knownName(session.client, "model", call.args[0] ?? "");
  const routerUrl = await routerUrlFor(call, session);
  const key = await clientKey(call);
  const show = progressOf(call, asked.requests);
  const start = systemClock.monotonic();
  const measured = await runLoad({
    ...asked,
    target: { routerUrl, ca: session.ca, key },
    clock: systemClock,
    body: (at) => ({
      model,
      max_tokens: asked.maxTokens,
      messages: [{ role: "user", content: benchPrompt(asked.promptTokens, call.flags.given("same-prompt") ? 0 : at) }],
    }),
    onDone: show.done,
    signal: interrupted(),
  });
  show.end();
  const seconds = (systemClock.monotonic() - start) / 1000;
  const summary = summarise({ model, router: routerUrl, concurrency: asked.concurrency, seconds }, measured);
  const output = outputOf(call);
  if (isDocument(output)) printDocument(call, output, summary);
  else call.io.stdout.write(benchPage(summary, lookingNow(call)));
  return summary.failed > 0 ? 1 : 0;
}

/** Only on a terminal: elsewhere there is nothing to be seen of it. */
function progressOf({ io }: Call, requests: number): { done: (count: number) => void; end: () => void } {
  if (!canRedraw(io.stderr, io.env)) return { done: () => undefined, end: () => undefined };
  const redraw = new Redraw(io.stderr);
  const done = (count: number): void => {
    redraw.show([`${String(count)} of ${String(requests)} requests done`]);
  };
  done(0);
  return {
    done,
    end: () => {
      redraw.clear();
    },
  };
}
