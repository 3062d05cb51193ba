import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import type { DesiredReplica } from "../core/desired.ts";
import { millis, profileName, replicaId } from "../core/ids.ts";
import { vllm } from "../engines/vllm/index.ts";
import { systemClock } from "../platform/clock.ts";
import { prove, tryWork } from "./engine-probe.ts";
import { THIS_MACHINE } from "./machine.ts";

const replica: DesiredReplica = {
  id: replicaId("vectors-1"),
  profile: profileName("vectors"),
  specHash: "h1",
  serves: ["vectors"],
  engine: "vllm",
  model: { source: "hf:a/b", files: [], sha256: {} },
  context: undefined,
  args: ["--max-num-seqs", "32"],
  env: {},
  gpus: [],
  apiKey: "k",
  startTimeout: millis(1000),
  generation: 1,
};

/** An engine that answers as the table says, and with 404 to everything else. */
async function engineWith(answers: Readonly<Record<string, { readonly status: number; readonly body: object }>>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const { status, body } = answers[path] ?? { status: 404, body: { error: { message: "Not Found" } } };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const record = { probeHost: "127.0.0.1", endpoint: { host: "127.0.0.1", port }, replica };
  return { target: { record, engine: vllm, machine: THIS_MACHINE }, asked };
}

const MODELS = { status: 200, body: { data: [{ id: "vectors", max_model_len: 512 }] } };
const VECTOR = { status: 200, body: { data: [{ embedding: [0.5] }] } };
const signal = new AbortController().signal;

test("a model that makes vectors proves itself by one, and the arguments say how much it takes", async () => {
  const { target, asked } = await engineWith({ "/v1/embeddings": VECTOR, "/v1/models": MODELS });
  expect(await prove(target, signal)).toEqual({ slots: 32, context: 512 });
  expect(asked).toEqual(["/v1/completions", "/v1/embeddings", "/v1/models"]);
});

test("a refusal of all kinds of work is told as that of the first", async () => {
  const { target, asked } = await engineWith({});
  expect(await prove(target, signal)).toMatch(/^POST \/v1\/completions: .*404: Not Found$/);
  expect(asked).toHaveLength(4);
});

test("a failure is no reason to ask for other work", async () => {
  const failure = { status: 500, body: { error: { message: "EngineCore died" } } };
  const { target, asked } = await engineWith({ "/v1/completions": failure, "/v1/embeddings": VECTOR });
  expect(await prove(target, signal)).toContain("500: EngineCore died");
  expect(asked).toEqual(["/v1/completions"]);
});

test("what proved it is what a hang is told by", async () => {
  const { target } = await engineWith({ "/v1/embeddings": VECTOR });
  expect(await tryWork(target, { clock: systemClock, timeout: millis(5000), signal })).toEqual({ kind: "worked" });
});
