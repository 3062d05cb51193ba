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

/** One greedy stream, whose text can be looked at while it grows. */
async function listen(index: number, heard: Heard): Promise<Heard> {
  const content = `${KINDS[index % KINDS.length] ?? ""} ${TOPICS[index % TOPICS.length] ?? ""}, number ${String(index)}.`;
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "small",
      messages: [{ role: "user", content }],
      ...{ stream: true, stream_options: { include_usage: true }, temperature: 0, max_tokens: TOKENS },
    }),
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    heard.whole += decoder.decode(bytes as Uint8Array, { stream: true });
    heard.text = textOf(chunksOf(heard.whole));
  }
  heard.isEnded = true;
  return heard;
}

const chunksOf = (whole: string): readonly Chunk[] =>
  [...whole.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json ?? "") as Chunk);
const textOf = (chunks: readonly Chunk[]): string =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join("");

const listenToAll = (heard: readonly Heard[]): Promise<readonly Heard[]> =>
  Promise.all(heard.map((one, index) => listen(index, one)));
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

test("32 greedy streams over three engines, one of them killed: each answer is whole, the same, and counted once", async () => {
  const undisturbed = await listenToAll(nothingHeard());
  const heard = nothingHeard();
  // Looked up beforehand: by the time of an answer the streams that were half way would have ended.
  const [victim] = await ready();
  const all = listenToAll(heard);
  const isUnderWay = ({ text, isEnded }: Heard): boolean => text.length > 20 && !isEnded;
  await until("three streams half way", () => heard.filter(isUnderWay).length >= 3, { timeoutMs: 60_000 });
  process.kill(victim?.pid ?? 0, "SIGKILL");
  await all;

  for (const { whole } of heard) {
    expect(whole).toMatch(/data: \[DONE\]\n\n$/);
    expect(new Set(chunksOf(whole).map(({ id }) => id)).size).toBe(1);
    expect(whole.match(/"role"/g)).toHaveLength(1);
  }
  expect(heard.map(({ text }) => text)).toEqual(undisturbed.map(({ text }) => text));

  const counted = [...undisturbed, ...heard].flatMap(({ whole }) =>
    chunksOf(whole).flatMap(({ usage }) => usage ?? []),
  );
  const row = await until("a record of each", async () => {
    const { stdout } = await finished(["ctl", "usage", "--by", "key", "--of", "app", "-o", "json"], {
      env: cluster.ctlEnv,
    });
    const { rows } = JSON.parse(stdout) as { readonly rows: readonly Row[] };
    return rows.find(({ requests }) => requests >= 2 * STREAMS);
  });
  expect(row).toMatchObject({
    requests: 2 * STREAMS,
    promptTokens: counted.reduce((sum, usage) => sum + usage.prompt_tokens, 0),
    completionTokens: counted.reduce((sum, usage) => sum + usage.completion_tokens, 0),
  });
  expect(row.estimated).toBeGreaterThan(0);
}, 240_000);
