import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "./cluster.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { until } from "./wait.ts";

const DOWNLOAD_MS = 240_000;

describe("llmgw up", () => {
  let dir: string;
  let server: string;
  let router: string;
  let env: Record<string, string>;
  let up: Running | undefined;

  const start = (more: Readonly<Record<string, string>> = {}): Running =>
    llmgw(["up", "--data-dir", join(dir, "data"), "--listen", server, "--router-listen", router], { ...env, ...more });

  const ask = async (content: string): Promise<string> => {
    const response = await fetch(`http://${router}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "smollm2", temperature: 0, max_tokens: 48, messages: [{ role: "user", content }] }),
    });
    if (!response.ok) throw new Error(`${String(response.status)} ${await response.text()}`);
    const body = (await response.json()) as { choices: { message: { content: string } }[] };
    return body.choices[0]?.message.content ?? "";
  };

  const ready = (running: Running): Promise<string> =>
    until("the block to paste", () => /chat\/completions[\s\S]*ctl chat/.exec(running.output())?.[0], {
      timeoutMs: DOWNLOAD_MS,
      seen: () => running.output().slice(-4000),
    });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "llmgw-up-"));
    server = `127.0.0.1:${String(await freePort())}`;
    router = `127.0.0.1:${String(await freePort())}`;
    env = { XDG_CONFIG_HOME: join(dir, "config"), NO_COLOR: "1" };
  });

  afterAll(async () => {
    await up?.end();
    await rm(dir, { recursive: true, force: true });
  });

  test("one command, and a real model answers in English", { timeout: DOWNLOAD_MS + 30_000 }, async () => {
    up = start();
    await ready(up);
    expect((await ask("Write one sentence about the sea.")).toLowerCase()).toContain("sea");
  });

  test("ctl finds it by the context that it wrote", async () => {
    const status = await finished(["ctl", "models", "-o", "json"], { env });
    expect(status.code).toBe(0);
    expect(status.stdout).toContain("smollm2");
  });

  test("a second one on the same folder is refused and names the first one's pid", async () => {
    const second = start();
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(String(up?.pid));
  });

  test("Ctrl-C ends it with 0, engines too", async () => {
    const { stdout } = await finished(["ctl", "ps", "-o", "json"], { env });
    const engine = Number(/"pid":\s*(\d+)/.exec(stdout)?.[1]);
    expect(engine).toBeGreaterThan(1);
    expect(await up?.end("SIGINT")).toBe(0);
    await expect(readFile(`/proc/${String(engine)}/cmdline`)).rejects.toThrow();
  });

  test("started again it is ready without fetching anything, even with every source out of reach", async () => {
    // Nothing listens on port 9: whatever goes outside fails at once.
    const nowhere = { HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9" };
    up = start({
      ...nowhere,
      http_proxy: nowhere.HTTP_PROXY,
      https_proxy: nowhere.HTTPS_PROXY,
      NO_PROXY: "",
      no_proxy: "",
    });
    await ready(up);
    expect((await ask("Write one sentence about the sea.")).toLowerCase()).toContain("sea");
    expect(up.output()).not.toMatch(/tiny:|noise/);
  });
});
