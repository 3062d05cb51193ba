import { afterAll, beforeAll, expect, test } from "vitest";
import { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

interface Row {
  readonly keyName: string;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly estimated: number;
}

let cluster: Cluster;
const ctl = (...args: readonly string[]) => cluster.ctl(...args);

const ask = (key: string, more: Readonly<Record<string, unknown>> = {}): Promise<Response> =>
  fetch(`${cluster.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "tiny",
      messages: [{ role: "user", content: "Hello" }],
      max_tokens: 6,
      ignore_eos: true,
      ...more,
    }),
  });

const usageOf = async (key: string): Promise<Row | undefined> => {
  const { rows } = JSON.parse((await ctl("usage", "--by", "key", "--of", key, "-o", "json")).stdout) as {
    readonly rows: readonly Row[];
  };
  return rows[0];
};

const create = async (...args: readonly string[]): Promise<string> =>
  (await ctl("keys", "create", ...args)).stdout.trim();

async function killAndRestart(): Promise<void> {
  await cluster.server?.end("SIGKILL");
  await cluster.startServer();
  await cluster.routed();
}

beforeAll(async () => {
  cluster = await Cluster.start({ auth: "keys" });
  await cluster.serveTiny();
});

afterAll(async () => {
  await cluster.stop();
});

test("counts as the engine does; a kill loses nothing that is older than a second, and says what it may have", async () => {
  const key = await create("app", "--budget", "5M/month");
  let prompt = 0;
  let completion = 0;
  for (let n = 0; n < 5; n++) {
    const { usage } = (await (await ask(key)).json()) as {
      readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
    };
    prompt += usage.prompt_tokens;
    completion += usage.completion_tokens;
  }
  await until("five requests", async () => (await usageOf("app"))?.requests === 5);
  expect(await usageOf("app")).toMatchObject({ promptTokens: prompt, completionTokens: completion, estimated: 0 });

  const stream = await ask(key, { stream: true, max_tokens: 6_000 });
  const reader = stream.body?.getReader();
  let events = 0;
  const reading = (async () => {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      events += Buffer.from(read.value).toString().split("data: ").length - 1;
    }
  })().catch(() => undefined);
  await until("its beginning", () => events > 10);
  const before = events;
  // A kill may cost what is younger than a second, and the time of a write.
  await new Promise((resolve) => setTimeout(resolve, 2_200));
  await killAndRestart();
  await reading;
  expect(events).toBeGreaterThan(before);

  const after = await until("the stream's usage", async () => {
    const row = await usageOf("app");
    return row !== undefined && row.requests === 6 ? row : undefined;
  });
  expect(after.estimated).toBe(1);
  expect(after.completionTokens).toBeGreaterThan(completion + before);
  expect(after.completionTokens).toBeLessThanOrEqual(completion + events + 5);
  const said = cluster.server?.output() ?? "";
  expect(said).toContain("ended without warning");
  expect(said).toMatch(/"running": ?1|running: 1/);

  const csv = await ctl("usage", "--by", "key,model,day", "-o", "csv");
  expect(csv.stdout).toMatch(
    /^key,model,day,requests,prompt,cached,completion,total,estimated,key_id\r\napp,tiny,\d{4}-\d\d-\d\d,6,/,
  );
  const table = await ctl("usage");
  expect(table.stdout).toMatch(/^KEY +MODEL +REQUESTS +PROMPT +CACHED +COMPLETION +TOTAL +ESTIMATED\napp +tiny +6 /);
});

test("a budget that is used up stays so over a kill, and a request can be asked about", async () => {
  const key = await create("small", "--budget", "40/day");
  const first = await ask(key);
  const id = first.headers.get("x-request-id") ?? "";
  await first.text();
  await until("the end of the budget", async () => {
    const response = await ask(key);
    await response.text();
    return response.status === 429;
  });
  await until("all of it counted", async () => {
    const row = await usageOf("small");
    return row !== undefined && row.promptTokens + row.completionTokens >= 40;
  });
  await killAndRestart();
  const refused = await until("the keys", async () => {
    const response = await ask(key);
    return response.status === 503 ? undefined : response;
  });
  expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: "insufficient_quota" } }]);
  expect((await ctl("keys", "list")).stdout).toMatch(/small .* 0 today /);
  const { requests } = await cluster.admin<{ requests: readonly { record: Record<string, unknown> }[] }>("GetRequest", {
    requestId: id,
  });
  const explained = await ctl("explain", id);
  expect(explained).toMatchObject({ code: 0, stderr: "" });
  expect(explained.stdout).toMatch(new RegExp(`^request ${id}\\n[\\s\\S]*Key +small\\n[\\s\\S]*\\ntry 1: tiny-`));
  expect(requests[0]?.record).toMatchObject({ requestId: id, keyName: "small", model: "tiny", outcome: "complete" });
});

test.each([
  { args: ["--by", "week"], code: 2, says: "key, model and day" },
  { args: ["--since", "soon"], code: 2, says: "2026-10-17" },
  { args: ["--of", "nobody"], code: 3, says: 'no client key "nobody"' },
])("llmgw ctl usage $args is refused in words", async ({ args, code, says }) => {
  const done = await ctl("usage", ...args);
  expect(done.code).toBe(code);
  expect(done.stderr).toContain(says);
});
