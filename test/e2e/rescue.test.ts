import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sampleSources } from "../../src/run/sample.ts";
import { Cluster } from "./cluster.ts";
import { finished } from "./process.ts";
import { until } from "./wait.ts";

const STREAMS = 32;
const TOKENS = 16;
/** A model whose text is text: characters that are cut between tokens are another matter. */
const MODEL = sampleSources(undefined).find((source) => source.startsWith("pypi:"));
const TOPICS = ["rain", "bread", "maps", "glass", "salt", "trains", "owls", "ink"] as const;
const KINDS = ["Explain", "Describe", "Praise", "Tell a story about"] as const;

let cluster: Cluster;
let key: string;

interface Chunk {
  readonly id: string;
  readonly choices: readonly { readonly delta: { readonly role?: string; readonly content?: string | null } }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

interface Row {
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Requests whose tokens are estimates: those that were rescued. */
  readonly estimated: number;
}

interface Heard {
  text: string;
  whole: string;
  isEnded: boolean;
}

/** How a client asks, and finds the text in what comes. */
interface Api {
  readonly path: string;
  readonly more: object;
  readonly textOf: (whole: string) => string;
}

/** One greedy stream, whose text can be looked at while it grows. */
async function listen(index: number, heard: Heard, { path, more, textOf }: Api): Promise<Heard> {
  const content = `${KINDS[index % KINDS.length] ?? ""} ${TOPICS[index % TOPICS.length] ?? ""}, number ${String(index)}.`;
  const response = await fetch(`${cluster.baseUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "small",
      messages: [{ role: "user", content }],
      ...{ stream: true, temperature: 0, max_tokens: TOKENS, ...more },
    }),
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    heard.whole += decoder.decode(bytes as Uint8Array, { stream: true });
    heard.text = textOf(heard.whole);
  }
  heard.isEnded = true;
  return heard;
}

const chunksOf = (whole: string): readonly Chunk[] =>
  [...whole.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json ?? "") as Chunk);
const textOf = (chunks: readonly Chunk[]): string =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join("");

const CHAT: Api = {
  path: "/chat/completions",
  more: { stream_options: { include_usage: true } },
  textOf: (whole) => textOf(chunksOf(whole)),
};
/** The engine has these itself. */
const MESSAGES: Api = {
  path: "/messages",
  more: {},
  textOf: (whole) =>
    [...whole.matchAll(/"text_delta","text":("(?:[^"\\]|\\.)*")/g)]
      .map(([, text]) => JSON.parse(text ?? "") as string)
      .join(""),
};

const listenToAll = (heard: readonly Heard[], api: Api): Promise<readonly Heard[]> =>
  Promise.all(heard.map((one, index) => listen(index, one, api)));
const nothingHeard = (): readonly Heard[] =>
  Array.from({ length: STREAMS }, () => ({ text: "", whole: "", isEnded: false }));

const ready = async () => (await cluster.replicas("small")).filter(({ state }) => state === "ready");

beforeAll(async () => {
  cluster = await Cluster.start({ auth: "keys" });
  await cluster.apply({
    name: "small",
    model: { source: MODEL },
    context: 4096,
    replicas: 3,
    // One thread and one request at a time: the same numbers are added in the same order whoever else is there.
    args: ["-t", "1", "-np", "1", "--cache-ram", "0"],
  });
  await until("three ready replicas", async () => (await ready()).length === 3, { timeoutMs: 240_000 });
  const created = await cluster.ctl("keys", "create", "app");
  key = created.stdout.trim();
  await until("a route for the key", async () => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${cluster.baseUrl}/models/small`, { headers })).ok;
  });
}, 300_000);

afterAll(async () => {
  await cluster.stop();
});

/** What so many requests are recorded as, when they are. */
const recorded = (count: number): Promise<Row> =>
  until("a record of each", async () => {
    const { stdout } = await finished(["ctl", "usage", "--by", "key", "--of", "app", "-o", "json"], {
      env: cluster.ctlEnv,
    });
    const { rows } = JSON.parse(stdout) as { readonly rows: readonly Row[] };
    return rows.find(({ requests }) => requests >= count);
  });

/** What is heard while nothing happens, and while an engine is killed that has a stream half way. */
async function heardTwice(
  api: Api,
): Promise<{ readonly undisturbed: readonly Heard[]; readonly heard: readonly Heard[] }> {
  const undisturbed = await listenToAll(nothingHeard(), api);
  const heard = nothingHeard();
  // Looked up beforehand: by the time of an answer the streams that were half way would have ended.
  const [victim] = await ready();
  const all = listenToAll(heard, api);
  await killedHalfWay(victim?.pid ?? 0, heard);
  await all;
  return { undisturbed, heard };
}

/** Its stream may have ended while it was only looked for: an engine that stands still shows by what stands still with it. */
async function killedHalfWay(pid: number, heard: readonly Heard[]): Promise<void> {
  const underWay = (): readonly Heard[] => heard.filter(({ text, isEnded }) => text.length > 20 && !isEnded);
  const stoppedHalfWay = async (): Promise<boolean> => {
    if (underWay().length < 3) return false;
    process.kill(pid, "SIGSTOP");
    const before = underWay().map((stream) => ({ stream, length: stream.text.length }));
    await setTimeout(500);
    if (before.some(({ stream, length }) => !stream.isEnded && stream.text.length === length)) return true;
    process.kill(pid, "SIGCONT");
    return false;
  };
  await until("a stream of the engine half way", stoppedHalfWay, { timeoutMs: 60_000 });
  process.kill(pid, "SIGKILL");
}

test("32 greedy streams over three engines, one of them killed: each answer is whole, the same, and counted once", async () => {
  const { undisturbed, heard } = await heardTwice(CHAT);

  for (const { whole } of heard) {
    expect(whole).toMatch(/data: \[DONE\]\n\n$/);
    expect(new Set(chunksOf(whole).map(({ id }) => id)).size).toBe(1);
    expect(whole.match(/"role"/g)).toHaveLength(1);
  }
  expect(heard.map(({ text }) => text)).toEqual(undisturbed.map(({ text }) => text));

  const counted = [...undisturbed, ...heard].flatMap(({ whole }) =>
    chunksOf(whole).flatMap(({ usage }) => usage ?? []),
  );
  const row = await recorded(2 * STREAMS);
  expect(row).toMatchObject({
    requests: 2 * STREAMS,
    promptTokens: counted.reduce((sum, usage) => sum + usage.prompt_tokens, 0),
    completionTokens: counted.reduce((sum, usage) => sum + usage.completion_tokens, 0),
  });
  expect(row.estimated).toBeGreaterThan(0);
}, 240_000);

test("Messages of engines that have them themselves: each is whole, one message, and the same", async () => {
  const before = await recorded(2 * STREAMS);
  await until("three ready replicas again", async () => (await ready()).length === 3, { timeoutMs: 60_000 });
  const { undisturbed, heard } = await heardTwice(MESSAGES);

  for (const { whole } of heard) {
    for (const once of ["message_start", "content_block_start", "content_block_stop", "message_stop"])
      expect(whole.match(new RegExp(`^event: ${once}$`, "gm"))).toHaveLength(1);
    expect(whole).not.toContain("event: error");
  }
  expect(heard.map(({ text }) => text)).toEqual(undisturbed.map(({ text }) => text));

  const after = await recorded(4 * STREAMS);
  expect(after.requests).toBe(4 * STREAMS);
  expect(after.estimated).toBeGreaterThan(before.estimated);
}, 240_000);
