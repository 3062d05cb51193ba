import { expect, inject, test } from "vitest";
import { chaosTable, runChaos } from "../chaos/chaos.ts";

test("agent and control plane are killed and cut off at random: no stream and no engine notices", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const result = await runChaos({
    ...{ llamaServer: inject("llamaServer"), streams: 8, tokensEach: 2000, durationMs: 24_000, seed },
  });
  process.stdout.write(`${chaosTable(result)}\n`);
  expect(result.faults, chaosTable(result)).toEqual([]);
  expect(result.streams.whole).toBeGreaterThanOrEqual(8);
  expect(result.struck).toBeGreaterThan(0);
}, 300_000);
