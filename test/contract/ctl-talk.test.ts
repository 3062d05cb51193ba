import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fixedCluster } from "../fakes/fixed-cluster.ts";
import { type ScriptedAdmin, scriptedAdmin } from "../fakes/scripted-admin.ts";
import { typed, type Typing } from "../fakes/typed.ts";

// What bench and chat make of a router's answers.

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly max_tokens?: number;
  readonly stream_options?: unknown;
}

let admin: ScriptedAdmin;
let router: Server;
let routerUrl: string;
let asked: Asked[] = [];
let open = 0;
let mostOpen = 0;
/** What the router does with a request; the place in the order of requests is given. */
let answer: (response: ServerResponse, at: number) => void = fine;

function fine(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const say = (chunk: object): void => void response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  for (const content of ["It", " is", " so."]) say({ choices: [{ delta: { content } }] });
  say({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 3 } });
  response.end("data: [DONE]\n\n");
}

function refuse(status: number, message: string) {
  return (response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message } }));
  };
}

beforeAll(async () => {
  admin = await scriptedAdmin(fixedCluster);
  router = createServer((request, response) => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    response.on("close", () => (open -= 1));
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => (body += part));
    request.on("end", () => {
      const at = asked.push(JSON.parse(body) as Asked) - 1;
      // Once every request of the round is there: then how many are open at once is no matter of luck.
      setImmediate(() => {
        answer(response, at);
      });
    });
  });
  await new Promise<void>((resolve) => router.listen(0, "127.0.0.1", resolve));
  routerUrl = `http://127.0.0.1:${String((router.address() as AddressInfo).port)}`;
});

beforeEach(() => {
  asked = [];
  mostOpen = 0;
  answer = fine;
});

afterAll(async () => {
  await admin.stop();
  router.closeAllConnections();
  await new Promise((resolve) => router.close(resolve));
});

const ctl = (words: readonly string[], typing: Typing = {}) =>
  typed(["ctl", ...words], { env: { LLMGW_SERVER: admin.url, LLMGW_TOKEN: "t" }, ...typing });

const bench = async (...words: readonly string[]) => {
  const done = await ctl(["bench", "qwen3", "--router", routerUrl, "-o", "json", ...words]);
  return { ...done, summary: JSON.parse(done.stdout) as Readonly<Record<string, unknown>> };
};

describe("bench", () => {
  test("asks so many times, so many at once, each time something else, and counts what came", async () => {
    const { code, stderr, summary } = await bench("--requests", "12", "--concurrency", "3", "--max-tokens", "9");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(asked).toHaveLength(12);
    expect(mostOpen).toBeLessThanOrEqual(3);
    expect(new Set(asked.map(({ messages }) => messages[0]?.content)).size).toBe(12);
    expect(asked[0]).toMatchObject({ model: "qwen3", max_tokens: 9, stream: true });
    expect(summary).toMatchObject({ model: "qwen3", done: 12, failed: 0, promptTokens: 240, completionTokens: 36 });
    const { firstTokenMs, answerMs } = summary as Record<string, Record<string, number>>;
    for (const spread of [firstTokenMs, answerMs]) {
      const { p50 = 0, p90 = 0, p99 = 0, max = 0 } = spread ?? {};
      expect([p50, p90, p99, max]).toEqual([p50, p90, p99, max].toSorted((a, b) => a - b));
      expect(p50).toBeGreaterThan(0);
    }
    expect(firstTokenMs?.["max"]).toBeLessThanOrEqual(answerMs?.["max"] ?? 0);
  });

  test("--same-prompt asks the same", async () => {
    await bench("--requests", "3", "--same-prompt", "--prompt-tokens", "40");
    expect(new Set(asked.map(({ messages }) => messages[0]?.content)).size).toBe(1);
    expect(asked[0]?.messages[0]?.content.split(" ")).toHaveLength(40);
  });

  test("failures are counted by what they are, and the exit code says so", async () => {
    answer = (response, at) => {
      (at % 3 === 0 ? fine : at % 3 === 1 ? refuse(503, "no replica is ready") : cutOff)(response);
    };
    const { code, summary } = await bench("--requests", "9", "--concurrency", "1");
    expect(code).toBe(1);
    expect(summary).toMatchObject({
      done: 3,
      failed: 6,
      failures: [
        { code: "model_not_ready", count: 3, message: "no replica is ready" },
        { code: "engine_broke_off", count: 3 },
      ],
    });
  });

  test("an engine that does not count is counted by the pieces of its answer", async () => {
    answer = (response) => {
      response.writeHead(200);
      response.end(`${'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'.repeat(5)}data: [DONE]\n\n`);
    };
    expect((await bench("--requests", "2")).summary).toMatchObject({ completionTokens: 10, promptTokens: 0 });
  });

  test("thinking is an answer's first token too", async () => {
    answer = (response) => {
      response.writeHead(200);
      response.end('data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\ndata: [DONE]\n\n');
    };
    expect((await bench("--requests", "1")).summary).toMatchObject({ done: 1, completionTokens: 1 });
  });

  test("progress is shown on a terminal and gone at the end; elsewhere there is none", async () => {
    const words = ["bench", "qwen3", "--router", routerUrl, "--requests", "3"];
    const drawn = await ctl(words, { terminal: { columns: 100, rows: 30 } });
    expect(drawn.stderr).toContain("3 of 3 requests done");
    expect(drawn.stderr.endsWith("\u001b[1A\u001b[0J")).toBe(true);
    expect(drawn.stdout).toMatch(/first token +[\d.]+ ms/);
    expect((await ctl(words)).stderr).toBe("");
  });

  test.each([
    [["--requests", "0"], /--requests takes a whole number of at least 1/],
    [["--concurrency", "x"], /--concurrency takes a whole number/],
    [["--router", "localhost"], /--router takes an address/],
    [["--key-file", "/no/such/key"], /no file \/no\/such\/key/],
  ])("%j is bad usage", async (words, says) => {
    const { code, stderr } = await ctl(["bench", "qwen3", "--router", routerUrl, ...words]);
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
    expect(asked).toEqual([]);
  });
});

function cutOff(response: ServerResponse): void {
  response.writeHead(200);
  response.write('data: {"choices":[{"delta":{"content":"It"}}]}\n\n', () => response.socket?.destroySoon());
}

describe("chat", () => {
  const chat = (words: readonly string[], typing: Typing = {}) =>
    ctl(["chat", "qwen3", "--router", routerUrl, ...words], typing);

  test("one question, from the command line or from stdin", async () => {
    expect(await chat(["Is it so?"])).toEqual({ code: 0, stdout: "It is so.\n", stderr: "" });
    expect(await chat([], { stdin: "Is it?\n" })).toMatchObject({ code: 0, stdout: "It is so.\n" });
    expect(asked.map(({ messages }) => messages.at(-1)?.content)).toEqual(["Is it so?", "Is it?"]);
  });

  test("a conversation keeps what was said, and goes on after a refusal without the question", async () => {
    answer = (response, at) => {
      (at === 1 ? refuse(503, "no replica is ready") : fine)(response);
    };
    const terminal = { columns: 80, rows: 24 };
    const done = await chat(["--system", "Be short."], { terminal, stdin: "One?\n\nTwo?\nThree?\n" });
    expect(done.code).toBe(0);
    expect(done.stdout).toBe("It is so.\n\nIt is so.\n");
    expect(done.stderr).toContain("no replica is ready");
    expect(asked.at(-1)?.messages).toEqual([
      { role: "system", content: "Be short." },
      { role: "user", content: "One?" },
      { role: "assistant", content: "It is so." },
      { role: "user", content: "Three?" },
    ]);
  });

  test("a model that is not there: what was meant", async () => {
    answer = refuse(404, 'The model "qwen" is not served.');
    const { code, stderr } = await ctl(["chat", "qwen", "Hello", "--router", routerUrl]);
    expect(code).toBe(3);
    expect(stderr).toContain('Did you mean "qwen3"?');
  });

  test("an answer that breaks off is no answer", async () => {
    answer = cutOff;
    for (const words of [["Hello"], ["Hello", "-o", "json"]]) {
      const { code, stdout, stderr } = await chat(words);
      expect({ code, stdout }).toEqual({ code: 1, stdout: words.length === 1 ? "It" : "" });
      expect(stderr).toContain("The answer broke off before its end");
      expect(stderr).not.toMatch(/at .*\.ts:\d+/);
    }
  });
});
