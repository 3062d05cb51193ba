import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scriptedAdapter, scriptedGguf } from "../fakes/scripted-gguf.ts";
import { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

const SAYS = ["Base", " speaks", " Kind", " words", " Salt", "."];
const TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}";
const [BASE, KIND, SALT] = ["Base speaks Kind words Salt.", "Kind words Salt.", "Salt."];

let cluster: Cluster;

const path = (name: string): string => join(cluster.dir, name);
const ctl = (...args: readonly string[]) => cluster.ctl(...args);

const manifest = (adapters: string): string =>
  `kind: Profile\nname: chat\nmodel: { source: "file:${path("base.gguf")}" }\nengine: llama.cpp\ncontext: 2048\n` +
  `args: ["--parallel", "2", "--threads", "1"]\nrollout: { drain: 10s }\nadapters: { ${adapters} }\n`;

async function apply(adapters: string): Promise<Awaited<ReturnType<typeof ctl>>> {
  await writeFile(path("chat.yaml"), manifest(adapters));
  return ctl("apply", "-f", path("chat.yaml"));
}

const adapter = (name: string): string => `${name}: "file:${path(`${name}.gguf`)}"`;

async function post(at: string, body: unknown): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${cluster.baseUrl}${at}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const question = { max_tokens: 16, messages: [{ role: "user", content: "Hi" }] };

/** What it says, without the space that its first piece may begin with. */
async function chat(model: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { text } = await post("/chat/completions", { model, ...question, ...more });
  const { choices } = JSON.parse(text) as { choices?: readonly { message: { content: string } }[] };
  return choices?.[0]?.message.content.trim() ?? text;
}

beforeAll(async () => {
  cluster = await Cluster.start();
  await writeFile(path("base.gguf"), scriptedGguf({ says: SAYS, template: TEMPLATE }));
  await writeFile(path("kind.gguf"), scriptedAdapter({ says: SAYS, beginsAt: 2 }));
  await writeFile(path("salty.gguf"), scriptedAdapter({ says: SAYS, beginsAt: 4 }));
  await writeFile(path("wide.gguf"), scriptedAdapter({ says: SAYS, beginsAt: 4, width: 96 }));
  expect(await apply(`${adapter("salty")}, ${adapter("kind")}`)).toMatchObject({ code: 0 });
  await cluster.ready("chat");
  await until("the adapter to answer", async () => (await chat("kind")) === KIND);
});

afterAll(async () => {
  await cluster.stop();
});

test("each name is answered by its own: the model as itself, and with each adapter, also at once", async () => {
  const names = ["chat", "kind", "salty", "kind", "chat", "salty"];
  const answers = await Promise.all(names.map((name) => chat(name)));
  expect(answers).toEqual([BASE, KIND, SALT, KIND, BASE, SALT]);
});

test("whoever asks for one name gets no other by the engine's own field", async () => {
  expect(await chat("chat", { lora: [{ id: 0, scale: 1 }] })).toBe(BASE);
  expect(await chat("salty", { lora: [] })).toBe(SALT);
});

test("in each API: as a stream, as a completion, as messages and as a response", async () => {
  const stream = await post("/chat/completions", { model: "salty", ...question, stream: true });
  expect(stream.text).toMatch(/Salt.*data: \[DONE\]\n\n$/s);
  expect(stream.text).not.toMatch(/Kind|"usage"/);
  const completion = await post("/completions", { model: "kind", prompt: "Hi", max_tokens: 16 });
  expect(JSON.parse(completion.text)).toMatchObject({ choices: [{ text: ` ${KIND}` }] });
  const messages = await post("/messages", { model: "kind", ...question });
  expect(JSON.parse(messages.text)).toMatchObject({ type: "message", content: [{ text: ` ${KIND}` }] });
  const base = await post("/messages", { model: "chat", ...question });
  expect(JSON.parse(base.text)).toMatchObject({ content: [{ text: BASE }] });
  const response = await post("/responses", { model: "salty", input: "Hi", max_output_tokens: 16 });
  expect(response.text).toMatch(/" Salt\."/);
  const count = await post("/messages/count_tokens", { model: "salty", messages: question.messages });
  expect(count.status).toBe(200);
  const vector = await post("/embeddings", { model: "salty", input: "Hi" });
  expect([vector.status, vector.text]).toEqual([404, expect.stringContaining("/v1/embeddings")]);
});

test("the list of models names the model that an adapter is of", async () => {
  const { data } = (await (await fetch(`${cluster.baseUrl}/models`)).json()) as {
    data: readonly { id: string; parent?: string }[];
  };
  expect(data.map(({ id, parent }) => [id, parent])).toEqual([
    ["chat", undefined],
    ["kind", "chat"],
    ["salty", "chat"],
  ]);
});

test("another set of adapters comes by new replicas; one that does not fit its model is told of in words", async () => {
  expect(await apply(adapter("salty"))).toMatchObject({ code: 0 });
  await until(
    "the name to be gone",
    async () => (await post("/chat/completions", { model: "kind", ...question })).status === 404,
  );
  expect(await chat("salty")).toBe(SALT);
  expect(await chat("chat")).toBe(BASE);
  expect(await apply(`${adapter("salty")}, ${adapter("wide")}`)).toMatchObject({ code: 0 });
  const refused =
    "wide.gguf cannot be loaded: tensor 'output.weight' has incorrect shape; it was made for another model";
  await until("the reason", async () => (await ctl("events")).stdout.includes(refused));
  await until("the set before to be in force", async () => {
    return (await post("/chat/completions", { model: "wide", ...question })).status === 404;
  });
  expect(await chat("salty")).toBe(SALT);
});
