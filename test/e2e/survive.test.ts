import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findByEnvironment, hasEnded, lookAtProcess } from "../../src/platform/proc.ts";
import { Cluster } from "./cluster.ts";
import { finished } from "./process.ts";
import { until } from "./wait.ts";

/** Reads an event stream to its end; `onFirst` is called when the first token is there. */
async function readStream(url: string, body: unknown, onFirst: () => void): Promise<string> {
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok || response.body === null) throw new Error(`${String(response.status)} ${await response.text()}`);
  const decoder = new TextDecoder();
  let text = "";
  let told = false;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (!told && text.includes("data: ")) {
      told = true;
      onFirst();
    }
  }
  return text;
}

describe("kill -9", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await Cluster.start();
    await cluster.serveTiny();
  });

  afterAll(async () => {
    await cluster.stop();
  });

  const longStream = {
    model: "tiny",
    messages: [{ role: "user", content: "Hello" }],
    max_tokens: 2_000,
    stream: true,
    ignore_eos: true,
    stream_options: { include_usage: true },
  };

  test("of the agent in mid-stream: the stream goes on to its end and the engine is taken over again", async () => {
    const before = await cluster.ready("tiny");
    let agentWasKilled = false;
    const text = await readStream(cluster.baseUrl, longStream, () => {
      agentWasKilled = true;
      void cluster.agent?.end("SIGKILL");
    });
    expect(agentWasKilled).toBe(true);
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(text).toContain('"completion_tokens":2000');

    await cluster.agent?.exited;
    cluster.startAgent();
    await until("the agent's word that it took the engine over", () => cluster.agent?.output().includes("adopted"));
    const after = await cluster.ready("tiny");
    expect({ id: after.id, pid: after.pid, restarts: after.restarts ?? 0 }).toEqual({
      id: before.id,
      pid: before.pid,
      restarts: 0,
    });
  });

  test("of the control plane: the engine is left alone and is routed to again", async () => {
    const before = await cluster.ready("tiny");
    await cluster.server?.end("SIGKILL");
    await cluster.startServer();
    const after = await cluster.ready("tiny");
    expect(after.pid).toBe(before.pid);
    await until("an answer", async () => {
      const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...longStream, max_tokens: 4, stream: false }),
      });
      return response.ok;
    });
  });

  test("of agent and control plane together: the same engine serves afterwards, alone", async () => {
    const before = await cluster.ready("tiny");
    await Promise.all([cluster.agent?.end("SIGKILL"), cluster.server?.end("SIGKILL")]);
    await cluster.startServer();
    cluster.startAgent();
    const after = await cluster.ready("tiny");
    expect(after.pid).toBe(before.pid);
    expect(await cluster.replicas("tiny")).toHaveLength(1);
  });

  test("of the engine: it is started anew, with the reason", async () => {
    const before = await cluster.ready("tiny");
    process.kill(before.pid ?? 0, "SIGKILL");
    const after = await until("another engine process", async () => {
      const [replica] = await cluster.replicas("tiny");
      return replica?.state === "ready" && replica.pid !== before.pid ? replica : undefined;
    });
    expect(after.id).toBe(before.id);
    expect(after.restarts).toBe(1);
  });

  test("B29 a plain stop of the agent keeps the engine serving, and stop-engines leaves nothing of it", async () => {
    const { id, pid = 0 } = await cluster.ready("tiny");
    const mark = `${join(cluster.dir, "node", "agent")}#${id}`;
    expect(await findByEnvironment("LLMGW_REPLICA", mark)).not.toEqual([]);
    const stopEngines = () =>
      finished([
        "agent",
        "stop-engines",
        "-c",
        join(cluster.dir, "agent.yaml"),
        "--data-dir",
        join(cluster.dir, "node"),
      ]);
    const refused = await stopEngines();
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("an agent already runs") as unknown });
    expect(await cluster.agent?.end("SIGTERM")).toBe(0);
    const answer = await fetch(`${cluster.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...longStream, max_tokens: 4, stream: false }),
    });
    expect(answer.status).toBe(200);
    expect(await stopEngines()).toMatchObject({ code: 0 });
    const left = await lookAtProcess(pid);
    expect(left.kind === "gone" || (left.kind === "there" && hasEnded(left.stat))).toBe(true);
    expect(await findByEnvironment("LLMGW_REPLICA", mark)).toEqual([]);
  });
});
