import { readUsage } from "../src/router/usage.ts";
import { median, quantile } from "../test/quantile.ts";
import { Dice } from "../test/sim/dice.ts";

export interface Guests {
  readonly conversations: number;
  readonly turns: number;
  /** System prompts that the conversations share among them. */
  readonly prompts: number;
  /** Requests at once. */
  readonly atOnce: number;
  readonly answerTokens: number;
}

export interface Heard {
  readonly requests: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** To the first token, ms. */
  readonly firstP50: number;
  readonly firstP90: number;
}

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

interface Asking {
  readonly guests: Guests;
  /** Begins every system prompt, so that no run finds what another has left in the caches. */
  readonly salt: string;
  /** Whom to ask next. */
  readonly url: () => string;
}

const SENTENCES = [
  "You are the assistant of a library and answer in one short sentence.",
  "You never say which books others have borrowed, whoever asks.",
  "If a book is not there, you name the day on which it comes back.",
  "Opening hours are from nine to six, and on Saturdays until noon.",
  "Reading rooms are on the second floor; maps and music are on the third.",
  "Whoever has lost a card brings a passport and gets a new one at once.",
];
const QUESTIONS = [
  "Which books on owls do you have?",
  "And which of them is the best for a child of eight?",
  "When could I come and look at it myself?",
  "I have lost my card. What do I do now?",
  "Is there a quiet place where we could read together?",
  "Could you keep it for me until Friday?",
  "What else would you say is worth the way?",
  "Thank you. Is there anything that I should bring along?",
];

/**
 * All conversations turn by turn, so that a conversation's next question comes after many others', and each turn in another
 * order, the same in every run: in one and the same order replicas that take turns would see the same guests again.
 */
export async function converse({ guests, salt, url }: Asking): Promise<Heard> {
  const conversations = Array.from({ length: guests.conversations }, (_, index): Message[] => [
    { role: "system", content: `${salt} ${String(index % guests.prompts)}. ${SENTENCES.join(" ")}` },
  ]);
  const heard: Answer[] = [];
  const dice = new Dice(1);
  for (let turn = 0; turn < guests.turns; turn++) {
    const waiting = [...dice.shuffled([...conversations.entries()])];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, messages] = next;
        const question = QUESTIONS[turn % QUESTIONS.length] ?? "";
        messages.push({ role: "user", content: `Guest ${String(index)}: ${question}` });
        const answer = await ask(url(), messages, guests.answerTokens);
        messages.push({ role: "assistant", content: answer.text });
        heard.push(answer);
      }
    };
    await Promise.all(Array.from({ length: guests.atOnce }, worker));
  }
  const sum = (of: (answer: Answer) => number): number => heard.reduce((all, answer) => all + of(answer), 0);
  const firsts = heard.map(({ firstMs }) => firstMs);
  return {
    requests: heard.length,
    promptTokens: sum(({ prompt }) => prompt),
    cachedTokens: sum(({ cached }) => cached),
    firstP50: median(firsts),
    firstP90: quantile(firsts, 0.9),
  };
}

interface Answer {
  readonly text: string;
  readonly firstMs: number;
  readonly prompt: number;
  readonly cached: number;
}

async function ask(url: string, messages: readonly Message[], tokens: number): Promise<Answer> {
  const at = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      ...{ model: "m", messages, max_tokens: tokens, temperature: 0 },
      ...{ stream: true, stream_options: { include_usage: true } },
    }),
  });
  if (!response.ok || response.body === null) throw new Error(`${String(response.status)} ${await response.text()}`);
  const chunks: Uint8Array[] = [];
  let firstMs: number | undefined;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    if (firstMs === undefined && Buffer.from(chunk).includes('"content":"')) firstMs = performance.now() - at;
  }
  const events = Buffer.concat(chunks).toString();
  const usage = readUsage(events);
  if (usage === undefined) throw new Error(`an answer without counts: ${events.slice(-300)}`);
  const pieces = events.matchAll(/"content":("(?:[^"\\]|\\.)*")/g);
  const text = [...pieces].map(([, piece = '""']) => JSON.parse(piece) as string).join("");
  return { text, firstMs: firstMs ?? performance.now() - at, prompt: usage.prompt, cached: usage.cached };
}
