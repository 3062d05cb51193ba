import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  agent,
  desired,
  firstPort,
  HOST,
  id,
  killAgent,
  kindOf,
  ours,
  plan,
  readRecord,
  ready,
  seen,
  untilGone,
  WAIT,
  workDir,
} from "../../test/fakes/replica-bench.ts";
import { standIn } from "../../test/fakes/stand-in.ts";
import { millis } from "../core/ids.ts";
import type { ObservedReplica } from "../core/observed.ts";
import { ok } from "../core/result.ts";
import { sglang } from "../engines/sglang/index.ts";
import { certificateSha256 } from "../platform/pinned-tls.ts";
import { createSelfSigned } from "../pki/self-signed.ts";
import { askEngine } from "./probe.ts";

const TLS = { engineTls: true };
const tlsFile = (name: string): string => join(workDir, "replicas", id, "tls", name);
const endpointOf = ({ state }: ObservedReplica) => (state.kind === "ready" ? state.endpoint : expect.fail(state.kind));
const LIMITS = { timeout: millis(5000), signal: AbortSignal.timeout(30_000) };

test("an engine answers over TLS with a certificate of its own, which the node tells", async () => {
  const replicas = await agent(TLS);
  replicas.apply(plan(1, desired()));
  const endpoint = endpointOf(await ready(replicas));
  const certificate = new X509Certificate(await readFile(tlsFile("engine.pem")));
  expect(endpoint).toEqual({ host: HOST, port: firstPort, tlsSha256: certificateSha256(certificate.raw) });
  expect((await stat(tlsFile("engine-key.pem"))).mode & 0o777).toBe(0o600);
  expect(certificate.subjectAltName).toBe("IP Address:127.0.0.1, DNS:localhost");
  const argv = await Promise.all((await ours()).map(({ pid }) => readFile(`/proc/${String(pid)}/cmdline`, "utf8")));
  expect(argv.join()).not.toContain("PRIVATE KEY");
  // Without TLS nobody is answered.
  await expect(fetch(`http://${HOST}:${String(firstPort)}/health`)).rejects.toThrow("fetch failed");
});

test("an agent that is started again takes it over, and knows it by what is on the disk", async () => {
  const first = await agent(TLS);
  first.apply(plan(1, desired()));
  const before = await ready(first);
  await killAgent(first);
  // Whatever its own file says now: the engine that runs is as it was started.
  const second = await agent({ engineTls: false });
  second.apply(plan(1, desired()));
  const after = await ready(second);
  expect(after.pid).toBe(before.pid);
  expect(endpointOf(after)).toEqual(endpointOf(before));
});

test("each start has another certificate", async () => {
  const replicas = await agent(TLS);
  replicas.apply(plan(1, desired()));
  const before = await ready(replicas);
  process.kill(before.pid ?? 0, "SIGKILL");
  await untilGone(before.pid ?? 0);
  await expect.poll(() => seen(replicas)?.restarts, WAIT).toBe(1);
  const after = await ready(replicas);
  expect(endpointOf(after).tlsSha256).not.toBe(endpointOf(before).tlsSha256);
  expect((await readRecord()).endpoint).toEqual(endpointOf(after));
});

test("a build without TLS is not started where it is asked for, and the reason says what to do", async () => {
  const engine = { ...standIn, withoutTls: sglang.withoutTls ?? (() => undefined) };
  const build = { name: "sglang", version: "0.5.9", origin: "configured", path: "stand-in", devices: [] } as const;
  const prepare = () => Promise.resolve(ok({ engine, build, modelPath: "", files: [], folder: "" }));
  const replicas = await agent({ ...TLS, prepare });
  replicas.apply(plan(1, desired()));
  await expect.poll(kindOf(replicas), WAIT).toBe("failed");
  expect(seen(replicas)?.state).toMatchObject({
    reason:
      "sglang 0.5.9 cannot answer over TLS: take 0.5.10 or a later release, or set engine_tls to false on this node",
  });
});

test("a stranger on the engine's port is not asked, and the reason says so", async () => {
  const now = millis(Date.now());
  const make = () => createSelfSigned({ commonName: "x", names: [], now, lifetime: millis(86_400_000) });
  const [shown, known] = await Promise.all([make(), make()]);
  const asked: string[] = [];
  const server = createServer({ cert: shown.certificate, key: shown.key }, (request, response) => {
    asked.push(request.headers.authorization ?? "");
    response.end("{}");
  }).listen(firstPort, HOST);
  try {
    const target = { host: HOST, port: firstPort, apiKey: "sk-engine", tlsSha256: certificateSha256(known.der) };
    const answer = await askEngine(target, standIn.healthRequest(), LIMITS);
    expect(answer).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^it shows another TLS certificate/) as unknown,
    });
    const right = await askEngine(
      { ...target, tlsSha256: certificateSha256(shown.der) },
      standIn.healthRequest(),
      LIMITS,
    );
    expect(right).toMatchObject({ ok: true, value: { status: 200, body: "{}" } });
    expect(asked).toEqual(["Bearer sk-engine"]);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
