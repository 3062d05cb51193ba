import { createInterface } from "node:readline/promises";
import { Readable, Writable } from "node:stream";
import { LlmgwError } from "../../core/errors.ts";
import { didYouMean } from "../../core/nearest.ts";
import type { Call, CommandSpec } from "../command.ts";
import { failureOf, reportFailure } from "../failure.ts";
import { type Io, isTerminal, readStdin } from "../io.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { type ChatBody, type ChatMessage, chatOnce, chatStream } from "./chat-request.ts";
import { clientKey, ROUTER_OPTIONS } from "./client-key.ts";
import { bareName, NAMES_OF } from "./names.ts";
import { isDocument, outputOf, printDocument } from "./output.ts";
import { routerUrlFor } from "./router-url.ts";
import { type Session, withSession } from "./session.ts";

export const chat: CommandSpec = {
  name: "chat",
  summary: "talk to a model through the router",
  details: "Without a message it is a conversation on a terminal, and reads the message from stdin otherwise.",
  arguments: [
    { form: "[model]", doc: "a name from `llmgw ctl models`; not needed when there is only one", completes: ["model"] },
    { form: "[message]", doc: "what to say" },
  ],
  options: [
    { flags: "--system <text>", doc: "the system message" },
    { flags: "--max-tokens <n>", doc: "end the answer after so many tokens" },
    { flags: "--temperature <t>", doc: "0 always takes the likeliest token" },
    ...ROUTER_OPTIONS,
    OUTPUT_PAGE,
  ],
  examples: [
    { line: 'llmgw ctl chat smollm2 "Write one sentence about the sea."', doc: "one question" },
    { line: "llmgw ctl chat", doc: "a conversation with the only model" },
    { line: "llmgw ctl chat smollm2 < question.txt", doc: "the question from a file" },
  ],
  run: (call) => withSession(call, (session) => talk(call, session)),
};

interface Talk {
  readonly model: string;
  readonly routerUrl: string;
  readonly ca: string | undefined;
  readonly key: string | undefined;
}

async function talk(call: Call, session: Session): Promise<number> {
  const [model = await onlyModel(session), said] = call.args;
  const talking: Talk = {
    model: bareName("model", model),
    routerUrl: await routerUrlFor(call, session),
    ca: session.ca,
    key: await clientKey(call),
  };
  try {
    if (said === undefined && isTerminal(call.io.stdin)) return await converse(call, talking);
    const message = said ?? (await readStdin(call.io)).trim();
    if (message === "") throw new LlmgwError("BAD_REQUEST", "There is no message: give one, or write it to stdin.");
    await answerOnce(call, talking, message);
    return 0;
  } catch (error) {
    throw await withSuggestion(error, session, talking.model);
  }
}

async function onlyModel({ client }: Session): Promise<string> {
  const names = await NAMES_OF.model(client);
  const [only, ...more] = names;
  if (only !== undefined && more.length === 0) return only;
  const choice =
    names.length === 0 ? "no model is served yet: `llmgw ctl run SOURCE`" : `name one of ${names.join(", ")}`;
  throw new LlmgwError(names.length === 0 ? "MODEL_NOT_FOUND" : "BAD_REQUEST", `Which model? ${choice}.`);
}

async function withSuggestion(error: unknown, { client }: Session, model: string): Promise<unknown> {
  const failure = failureOf(error);
  if (failure.code !== "MODEL_NOT_FOUND") return error;
  const known = await NAMES_OF.model(client).catch(() => []);
  return new LlmgwError("MODEL_NOT_FOUND", `${failure.message}${didYouMean(model, known)}`, { cause: error });
}

function bodyOf({ flags }: Call, { model }: Talk, conversation: readonly ChatMessage[]): ChatBody {
  const system = flags.text("system");
  const temperature = flags.text("temperature");
  if (temperature !== undefined && !(Number(temperature) >= 0)) {
    throw new LlmgwError("BAD_REQUEST", `--temperature takes a number of at least 0, not "${temperature}".`);
  }
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: "system" as const, content: system }]), ...conversation],
    max_tokens: flags.integer("max-tokens", 1),
    ...(temperature === undefined ? {} : { temperature: Number(temperature) }),
  };
}

async function answerOnce(call: Call, talking: Talk, message: string): Promise<void> {
  const body = bodyOf(call, talking, [{ role: "user", content: message }]);
  const output = outputOf(call);
  const target = { ...talking, signal: new AbortController().signal };
  if (isDocument(output)) printDocument(call, output, await chatOnce(target, body));
  else {
    for await (const piece of chatStream(target, body)) call.io.stdout.write(piece);
    call.io.stdout.write("\n");
  }
}

/** Ctrl-C cuts the answer that is coming, or ends the conversation when none is; Ctrl-D ends it too. */
async function converse(call: Call, talking: Talk): Promise<number> {
  call.io.stderr.write(`Talking to ${talking.model}. Ctrl-D ends it, Ctrl-C cuts an answer short.\n`);
  const lines = createInterface({ ...terminalOf(call.io), prompt: "> " });
  let answering: AbortController | undefined;
  lines.on("SIGINT", () => {
    if (answering === undefined) lines.close();
    else answering.abort();
  });
  // The input may end while an answer is on its way.
  let isOpen = true;
  lines.once("close", () => (isOpen = false));
  const prompt = (): void => {
    if (isOpen) lines.prompt();
  };
  let conversation: readonly ChatMessage[] = [];
  prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      answering = new AbortController();
      conversation = await nextTurn(call, { ...talking, signal: answering.signal }, [
        ...conversation,
        { role: "user", content: line },
      ]);
      answering = undefined;
    }
    prompt();
  }
  call.io.stderr.write("\n");
  return 0;
}

/** A real terminal as it is, so that lines can be edited; anything else as a source of lines. */
function terminalOf({ stdin, stderr }: Io): { readonly input: Readable; readonly output?: Writable } {
  const input = stdin instanceof Readable ? stdin : Readable.from(stdin);
  return stderr instanceof Writable ? { input, output: stderr } : { input };
}

/** The conversation with the answer; without the question when there was none, so that it can be asked again. */
async function nextTurn(
  call: Call,
  talking: Talk & { readonly signal: AbortSignal },
  asked: readonly ChatMessage[],
): Promise<readonly ChatMessage[]> {
  let answer = "";
  try {
    for await (const piece of chatStream(talking, bodyOf(call, talking, asked))) {
      answer += piece;
      call.io.stdout.write(piece);
    }
  } catch (error) {
    if (!talking.signal.aborted) reportFailure(error, call.io, false);
  }
  call.io.stdout.write("\n");
  return answer === "" ? asked.slice(0, -1) : [...asked, { role: "assistant", content: answer }];
}
