import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nodeId } from "../core/ids.ts";
import { silentLogger } from "../platform/logger.ts";
import { AgentIdentity } from "./agent-identity.ts";

const SECRET = `llmgw-join-${"x".repeat(43)}`;
const PINNED = `${SECRET}.${"p".repeat(43)}`;
let workDir = "";

beforeEach(async () => {
  workDir = await mkdtemp(join(tmpdir(), "llmgw-identity-"));
});
afterEach(async () => {
  await rm(workDir, { recursive: true });
});

async function opened(token: string | undefined, server = "http://127.0.0.1:1", tls?: Record<"cert" | "key", string>) {
  const said: string[] = [];
  const logger = Object.assign(Object.create(silentLogger) as typeof silentLogger, {
    warn: (words: string) => void said.push(words),
  });
  const identity = await AgentIdentity.open({
    config: { server: [server], join_token: token, tls },
    ...{ workDir, nodeId: nodeId("n1"), logger, env: {} },
  });
  return { identity, said };
}

describe("over http", () => {
  test.each([
    { token: undefined, authorization: undefined },
    { token: SECRET, authorization: `Bearer ${SECRET}` },
    { token: "typed wrongly", authorization: "Bearer typed wrongly" },
  ])("$token is shown as it is", async ({ token, authorization }) => {
    const { identity } = await opened(token);
    expect(await identity.proofFor("http://127.0.0.1:1")).toEqual({ tls: undefined, authorization });
  });

  test("a token that vouches for https is not sent in the clear", async () => {
    const { identity } = await opened(PINNED);
    await expect(identity.proofFor("http://127.0.0.1:1")).rejects.toThrow(
      /vouches for a control plane that speaks https/,
    );
  });

  test.each([
    { server: "http://192.0.2.1:7443", warnings: 1 },
    { server: "http://cp.example:7443", warnings: 1 },
    { server: "http://[::1]:7443", warnings: 0 },
    { server: "http://localhost:7443", warnings: 0 },
    { server: "https://192.0.2.1:7443", warnings: 0 },
  ])("$server is warned of $warnings times", async ({ server, warnings }) => {
    const { said } = await opened(SECRET, server);
    expect(said.filter((words) => /is plain http: anyone on the way can read along/.test(words))).toHaveLength(
      warnings,
    );
  });
});

describe("over https", () => {
  const server = "https://127.0.0.1:1";

  test("without a certificate and without a token nothing is shown", async () => {
    const { identity } = await opened(undefined, server);
    expect(await identity.proofFor(server)).toEqual({ tls: undefined, authorization: undefined });
  });

  test("what is no join token is said, and not sent", async () => {
    const { identity } = await opened("typed wrongly", server);
    await expect(identity.proofFor(server)).rejects.toThrow(/join_token is no join token/);
  });

  test("certificates that are named and not there are a fault without a token, and come with one", async () => {
    const tls = { cert: join(workDir, "a.pem"), key: join(workDir, "a-key.pem") };
    await expect(opened(undefined, server, tls)).rejects.toThrow(/tls\.cert: there is no file/);
    const { identity } = await opened(SECRET, server, tls);
    // Nobody is there to ask.
    await expect(identity.proofFor(server)).rejects.toThrow(/ECONNREFUSED/);
  });
});
