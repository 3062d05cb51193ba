import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { parseAgentConfig, renderAgentConfig } from "../config/agent.ts";
import type { Call } from "./command.ts";
import { changedKeys, reloadConfig, requireConfig } from "./role-config.ts";

const before = { server: ["http://a:7443"], labels: { rack: "r1" }, heartbeat_interval: 5000, node_id: undefined };

test.each([
  { name: "nothing", after: { ...before }, want: [] },
  { name: "only how it was written", after: { ...before, labels: { rack: "r1" } }, want: [] },
  { name: "one value", after: { ...before, heartbeat_interval: 6000 }, want: ["heartbeat_interval"] },
  { name: "something inside", after: { ...before, labels: { rack: "r2" } }, want: ["labels"] },
  { name: "a new key", after: { ...before, node_id: "a" }, want: ["node_id"] },
  { name: "one less", after: { server: before.server, labels: before.labels }, want: ["heartbeat_interval"] },
])("what changed: $name", ({ after, want }) => {
  expect(changedKeys(before, after)).toEqual(want);
});

test("SIGHUP notices that a file holds another secret, says which key, and shows neither secret", async () => {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-reload-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [file, secret] = [join(folder, "agent.yaml"), join(folder, "token")];
  await writeFile(file, `server: "https://cp:7443"\njoin_token: file:${secret}\n`);
  await writeFile(secret, "llmgw-join-first\n");
  await chmod(secret, 0o600);
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const kind = { parse: parseAgentConfig, render: renderAgentConfig };
  const call = { flags: { text: (name: string) => (name === "config" ? file : undefined) }, io: { env: {} } };
  const inForce = await requireConfig(call as unknown as Call, kind);
  await writeFile(secret, "llmgw-join-second\n");
  const taken = await reloadConfig(call as unknown as Call, kind, { inForce, logger, take: () => inForce });
  expect(taken).toBe(inForce);
  expect(lines.join("")).toContain("SIGHUP: the configuration has changed; a restart is needed for: join_token");
  expect(lines.join("")).not.toMatch(/first|second/);
});
