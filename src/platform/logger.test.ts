import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createLogger, InfoLines, LOG_LEVELS, type Logger } from "./logger.ts";

const SECRET = "planted-secret-0123456789";
const KEY = "sk-llmgw-Planted0123456789Planted0123456789";

async function logged(write: (logger: Awaited<ReturnType<typeof createLogger>>) => void): Promise<string> {
  let text = "";
  write(await createLogger("trace", "json", (part) => (text += part)));
  return text;
}

describe("a secret that is planted in a log line is not written", () => {
  test.each<{ readonly name: string; readonly fields: object; readonly words?: string }>([
    { name: "under its name", fields: { apiKey: SECRET } },
    { name: "one level down", fields: { config: { join_token: SECRET } } },
    { name: "two levels down", fields: { a: { b: { password: SECRET } } } },
    { name: "in headers", fields: { headers: { "x-api-key": SECRET, "proxy-authorization": SECRET, cookie: SECRET } } },
    { name: "in a list", fields: { keys: [{ key: SECRET }] } },
    {
      name: "an address's password, in an error",
      fields: { err: new Error(`http://bob:${SECRET}@proxy:3128 is gone`) },
    },
    { name: "an address's password, in words", fields: {}, words: `http://bob:${SECRET}@proxy:3128 does not answer` },
    { name: "a header, in words", fields: {}, words: `it said: Authorization: Bearer ${SECRET}` },
    { name: "a client's key, in words", fields: {}, words: `${KEY} is refused` },
    { name: "a key under a name that tells nothing", fields: { said: [{ deep: { deeper: { deepest: KEY } } }] } },
    { name: "half a private key", fields: { said: `-----BEGIN PRIVATE KEY-----\n${SECRET}` }, words: "x" },
  ])("$name", async ({ fields, words = "" }) => {
    for (const level of LOG_LEVELS) {
      const line = await logged((logger) => {
        logger[level](fields, words);
      });
      expect(line).not.toContain(SECRET);
      expect(line).not.toContain(KEY);
      expect(line).toContain("[hidden]");
      expect(JSON.parse(line)).toMatchObject({ time: expect.any(String) as string });
    }
  });

  test("and what is none stays as it is", async () => {
    const line = await logged((logger) => {
      logger.info({ request_id: "req-1", url: "http://a:1/x" }, "tokens: 5, key app");
    });
    expect(JSON.parse(line)).toMatchObject({ request_id: "req-1", url: "http://a:1/x", msg: "tokens: 5, key app" });
  });
});

test("a person's form of a line hides the same", async () => {
  let text = "";
  const logger = await createLogger("info", "pretty", (part) => (text += part));
  logger.info({ token: SECRET }, `http://bob:${SECRET}@proxy:3128`);
  expect(text).toContain("[hidden]");
  expect(text).not.toContain(SECRET);
});

describe("lines that come by the thousand", () => {
  test.each<{ readonly name: string; readonly of: (logger: Logger) => Logger }>([
    { name: "of a logger", of: (logger) => logger },
    { name: "of a child", of: (logger) => logger.child({ worker: 2, who: 'a "b"' }) },
  ])("$name say what others say", async ({ of }) => {
    const lines = [
      await logged((logger) => {
        const line = new InfoLines(of(logger));
        const fields = line.text("request_id", 'r "1"\n') + line.text("key", "app") + line.text("gone", undefined);
        line.write(fields + line.number("ms", 3) + line.number("ttft_ms", undefined), 'it\'s "so"');
        line.write("", "");
      }),
      await logged((logger) => {
        const usual = of(logger).child({}, { redact: [] });
        usual.info({ request_id: 'r "1"\n', key: "app", ms: 3 }, 'it\'s "so"');
        usual.info({}, "");
      }),
    ];
    const [own, usual] = lines.map((text) => text.replaceAll(/"time":"[^"]*"/g, '"time":""'));
    expect(own).toBe(usual);
    expect(lines[0]).toMatch(/^\{"level":30,"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",[^\n]*\}\n/);
  });

  test("hold no secret in their words", async () => {
    const line = await logged((logger) => {
      const lines = new InfoLines(logger);
      lines.write(lines.text("detail", `it said: Bearer ${SECRET}`) + lines.text("path", `/v1/${KEY}`), KEY);
    });
    expect(line).not.toContain(SECRET);
    expect(line).not.toContain(KEY);
  });

  test("are not wanted at another level", async () => {
    expect(new InfoLines(await createLogger("warn", "json", () => undefined)).isOn).toBe(false);
  });
});

/** Writes lines of both kinds, and then does what `end` says. */
const program = (end: string): string => `
  const { createLogger, InfoLines } = await import(${JSON.stringify(new URL("logger.ts", import.meta.url).href)});
  const logger = await createLogger("info", "json");
  const requests = new InfoLines(logger);
  requests.write(requests.number("n", 1), "request");
  logger.info({ n: 2 }, "words");
  requests.write(requests.number("n", 3), "request");
  ${end}`;

test.each([
  { name: "has nothing more to do", end: "", code: 0 },
  { name: "ends at once", end: "process.exit(3);", code: 3 },
  { name: "breaks", end: "throw new Error('broken');", code: 1 },
])("every line is written, in order, by a process that $name", ({ end, code }) => {
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program(end)], {
    encoding: "utf8",
  });
  const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
  expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual([1, 2, 3]);
  expect(status).toBe(code);
});
