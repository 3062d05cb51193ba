import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "./cluster.ts";
import { finished } from "./process.ts";
import { until } from "./wait.ts";

/** What every process on the machine was started with. */
async function commandLines(): Promise<string> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
  return (await Promise.all(lines)).join("\n");
}

/** Every file of the folder and those below it, as text. */
async function filesBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith(".gguf"));
  const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1").catch(() => ""));
  return (await Promise.all(texts)).join("\n");
}

describe("a router that asks for keys", () => {
  let cluster: Cluster;
  const ctl = (...args: readonly string[]) => cluster.ctl(...args);
  const create = async (...args: readonly string[]): Promise<string> => {
    const made = await ctl("keys", "create", ...args);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sk-llmgw-\w{43}\n$/) as string });
    return made.stdout.trim();
  };
  const ask = (key: string | undefined, more: Readonly<Record<string, unknown>> = {}): Promise<Response> =>
    fetch(`${cluster.baseUrl}/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({
        model: "tiny",
        messages: [{ role: "user", content: "Hello" }],
        max_tokens: 4,
        ...more,
      }),
    });
  const statusOf = async (response: Promise<Response>): Promise<number> => {
    await (await response).text();
    return (await response).status;
  };

  beforeAll(async () => {
    cluster = await Cluster.start({ auth: "keys" });
    await cluster.serveTiny();
  });

  afterAll(async () => {
    await cluster.stop();
  });

  test("without any key it says how to make one, and serves nobody", async () => {
    expect(cluster.server?.output()).toContain("llmgw ctl keys create NAME");
    expect(await statusOf(ask(undefined))).toBe(401);
    expect(await statusOf(ask("sk-llmgw-made-up"))).toBe(401);
    expect((await ctl("keys", "list")).stderr).toContain("no keys yet");
  });

  test("made, used, held to its models, kept over a kill, revoked; and written down nowhere", async () => {
    const secret = await create("app", "--models", "tiny,later", "--rpm", "1000", "--budget", "5M/month");
    expect(await statusOf(ask(secret))).toBe(200);
    expect(await statusOf(ask(secret, { model: "other" }))).toBe(403);
    const chat = await finished(["ctl", "chat", "tiny", "Hello", "--max-tokens", "4"], {
      env: { ...cluster.ctlEnv, LLMGW_API_KEY: secret },
    });
    expect({ code: chat.code, stderr: chat.stderr }).toEqual({ code: 0, stderr: "" });
    const keyless = await ctl("chat", "tiny", "Hello");
    expect({ code: keyless.code, stderr: keyless.stderr }).toEqual({
      code: 5,
      stderr: expect.stringContaining("LLMGW_API_KEY") as string,
    });

    const table = await ctl("keys", "list");
    expect(table.stdout).toMatch(/^NAME +KEY +STATE +MODELS +LIMITS +BUDGET LEFT +EXPIRES +AGE\n/);
    expect(table.stdout).toMatch(
      /app +sk-llmgw-\w{6}… +active +later,tiny +1000 requests\/min, 5000000 tokens\/month +\d+ this month +never/,
    );
    const shown = await Promise.all([
      ctl("keys", "list", "--all", "-o", "json"),
      ctl("events", "-o", "json"),
      ctl("status", "-o", "json"),
    ]);
    for (const { code, stdout } of shown) {
      expect(code).toBe(0);
      expect(stdout).not.toContain(secret);
    }
    expect(shown[1].stdout).toContain("KeyCreated");

    await cluster.server?.end("SIGKILL");
    await cluster.startServer();
    await until("the key's return", async () => (await statusOf(ask(secret))) === 200);

    const revoked = await ctl("keys", "revoke", secret);
    expect(revoked).toMatchObject({ code: 0, stdout: "key/app revoked\n" });
    await until("the end of the key", async () => (await statusOf(ask(secret))) === 401, { timeoutMs: 1_000 });
    expect((await ctl("keys", "revoke", "app")).code).toBe(3);

    const everything = `${await filesBelow(cluster.dir)}\n${await commandLines()}\n${cluster.server?.output() ?? ""}\n${cluster.agent?.output() ?? ""}`;
    expect(everything).toContain("SQLite format 3");
    expect(everything).not.toContain(secret);
  });

  test("a stream holds the only slot of its key to its end", async () => {
    const secret = await create("one-at-a-time", "--concurrency", "1");
    const stream = await ask(secret, { stream: true, max_tokens: 200, ignore_eos: true });
    expect(stream.status).toBe(200);
    const second = await ask(secret);
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "1"]);
    await second.text();
    expect(await stream.text()).toContain("data: [DONE]");
    await until("a free slot", async () => (await statusOf(ask(secret))) === 200);
  });

  test("tokens are charged as the real engine counted them", async () => {
    const secret = await create("small", "--tpm", "10");
    const first = (await (await ask(secret, { max_tokens: 8, ignore_eos: true })).json()) as {
      usage: { total_tokens: number };
    };
    expect(first.usage.total_tokens).toBeGreaterThanOrEqual(10);
    const refused = await ask(secret);
    expect([refused.status, refused.headers.get("x-ratelimit-remaining-tokens")]).toEqual([429, "0"]);
    await refused.text();
  });

  test.each([
    { args: ["create", "a b"], code: 2, says: '"a b"' },
    { args: ["create", "x", "--budget", "5/week"], code: 2, says: "5M/month" },
    { args: ["create", "x", "--expires", "soon"], code: 2, says: "--expires must be a duration" },
    { args: ["revoke", "nobody"], code: 3, says: 'no client key "nobody"' },
  ])("llmgw ctl keys $args is refused in words", async ({ args, code, says }) => {
    const done = await ctl("keys", ...args);
    expect(done.code).toBe(code);
    expect(done.stderr).toContain(says);
  });
});
