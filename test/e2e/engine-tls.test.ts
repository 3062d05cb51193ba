import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { certificateSha256 } from "../../src/platform/pinned-tls.ts";
import { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

const run = promisify(execFile);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ agent: ["engine_tls: true"] });
  await cluster.serveTiny();
});
afterAll(async () => {
  await cluster.stop();
});

const ask = async (): Promise<string> => {
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "tiny",
      stream: true,
      max_tokens: 4,
      messages: [{ role: "user", content: "Hi" }],
    }),
  });
  return `${String(response.status)} ${await response.text()}`;
};

test("a real llama-server answers over TLS, and the router streams from it", async () => {
  expect(await ask()).toMatch(/^200 data: .*\n\ndata: \[DONE\]\n\n$/s);
});

test("what openssl sees there is what the control plane was told, and without TLS nobody is answered", async () => {
  const { id, endpoint } = await cluster.ready("tiny");
  const { host = "", port = 0, tlsSha256 = "" } = endpoint ?? {};
  const command = `openssl s_client -connect ${host}:${String(port)} </dev/null 2>/dev/null | openssl x509 -outform pem`;
  const { stdout } = await run("/bin/sh", ["-c", command]);
  expect(certificateSha256(new X509Certificate(stdout).raw)).toBe(tlsSha256);
  const key = join(cluster.dir, "node", "agent", "replicas", id, "tls", "engine-key.pem");
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  await expect(fetch(`http://${host}:${String(port)}/health`)).rejects.toThrow();
});

test("an agent that was killed finds the engine again, over TLS", async () => {
  const before = await cluster.ready("tiny");
  await cluster.agent?.end("SIGKILL");
  cluster.startAgent();
  await until("the engine to be adopted", () =>
    Promise.resolve(/adopted the engine/.test(cluster.agent?.output() ?? "")),
  );
  const after = await cluster.ready("tiny");
  expect([after.pid, after.endpoint]).toEqual([before.pid, before.endpoint]);
  expect(await ask()).toMatch(/^200 /);
});
