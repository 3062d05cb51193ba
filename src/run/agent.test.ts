import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { SmallDisk } from "../../test/fakes/small-disk.ts";
import { say, type Script, scriptedControl, welcome } from "../../test/fakes/scripted-control.ts";
import { type AgentConfig, parseAgentConfig } from "../config/agent.ts";
import { millis, nodeId } from "../core/ids.ts";
import { silentLogger } from "../platform/logger.ts";
import type { SessionRequest } from "../wire/gen/llmgw/v1/agent_pb.js";
import { startAgent } from "./agent.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-agent-"));
afterAll(() => rm(root, { recursive: true, force: true }));

let folder = "";
let count = 0;
beforeEach(() => {
  folder = join(root, String(count++));
});

function configOf(...lines: string[]): AgentConfig {
  const parsed = parseAgentConfig({
    text: ['metrics_listen: "127.0.0.1:0"', "heartbeat_interval: 250ms", ...lines].join("\n"),
    file: "agent.yaml",
    env: {},
    readSecret: () => ({ ok: false, error: "none" }),
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

const start = (config: AgentConfig) =>
  startAgent({
    config,
    paths: { workDir: join(folder, "agent"), weightsDir: join(folder, "weights"), enginesDir: join(folder, "engines") },
    nodeId: nodeId("gpu-a-01"),
    logger: silentLogger,
    env: { PATH: "" },
  });

describe("an agent", () => {
  test("joins, says what the machine is and why it cannot run what it is told to, and leaves nothing but its folder", async () => {
    const heard: SessionRequest[] = [];
    const script: Script = async function* (requests) {
      for await (const request of requests) {
        heard.push(request);
        if (request.body.case === "heartbeat") yield say({ case: "heartbeatAck", value: { sequence: 1 } });
        if (request.body.case !== "hello") continue;
        yield welcome;
        const replica = { id: "chat-1", profile: "chat", engine: "llama.cpp", model: { source: "nonsense" } };
        yield say({ case: "desired", value: { revision: 5, replicas: [{ ...replica, startTimeoutMs: 60_000 }] } });
      }
    };
    const control = await scriptedControl(script);
    const config = configOf(
      `server: "${control.url}"`,
      "labels: { rack: r12 }",
      `engines: { llama.cpp: { bin: "${join(folder, "no-such-program")}" } }`,
    );
    const agent = await start(config);
    const observed = () =>
      heard
        .flatMap(({ body }) => (body.case === "observed" ? body.value.replicas.map(({ state }) => state) : []))
        .at(-1);
    await expect.poll(observed, { timeout: 15_000 }).toMatchObject({ case: "failed" });
    expect(JSON.stringify(observed())).toContain("no-such-program");
    expect(heard[0]?.body).toMatchObject({
      case: "hello",
      value: { nodeId: "gpu-a-01", inventory: { address: "127.0.0.1", labels: { rack: "r12" } } },
    });
    await agent.stop("stop-engines");
    await agent.done;
    expect(heard.at(-1)?.body.case).toBe("goodbye");
    expect(await readdir(join(folder, "agent"))).toEqual([]);
    await control.close(millis(0));
  });

  test("does not start beside another one on the same folder", async () => {
    const config = configOf('server: "http://127.0.0.1:1"');
    const first = await start(config);
    await expect(start(config)).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining(`as process ${String(process.pid)}`) as unknown,
    });
    await first.stop("keep-engines");
    const second = await start(config);
    await second.stop("keep-engines");
  });

  test("does not start with a key that is not there", async () => {
    const tls = `tls: { ca: "${folder}/ca.pem", cert: "${folder}/a.pem", key: "${folder}/a-key.pem" }`;
    await expect(start(configOf('server: "https://127.0.0.1:1"', tls))).rejects.toMatchObject({ code: "BAD_CONFIG" });
  });

  test("goes on where its folder is on a disk that is read-only, says so, and is one alone", async (t) => {
    const disk = await SmallDisk.mount(join(folder, "agent"));
    if (disk === undefined) return t.skip("no disk of its own");
    disk.makeReadOnly();
    try {
      const heard: SessionRequest[] = [];
      const control = await scriptedControl(async function* (requests) {
        for await (const request of requests) {
          heard.push(request);
          if (request.body.case === "hello") yield welcome;
        }
      });
      const config = configOf(`server: "${control.url}"`);
      const first = await start(config);
      await expect
        .poll(() => heard[0]?.body, { timeout: 15_000 })
        .toMatchObject({ value: { inventory: { problems: [expect.stringContaining("is read-only")] } } });
      await expect(start(config)).rejects.toMatchObject({ code: "CONFLICT" });
      await first.stop("keep-engines");
      await control.close(millis(0));
    } finally {
      disk.unmount();
    }
  });

  test("says which folder it cannot use", async () => {
    folder = "/proc/llmgw";
    await expect(start(configOf('server: "http://127.0.0.1:1"'))).rejects.toMatchObject({
      code: "FAILED",
      message: expect.stringContaining("/proc/llmgw/agent cannot be used") as unknown,
    });
  });
});
