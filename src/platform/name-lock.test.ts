import { expect, test } from "vitest";
import { holdName } from "./name-lock.ts";

test.skipIf(process.platform !== "linux")(
  "one has the name, until it lets go of it (skipped where no such names are)",
  async () => {
    const name = `llmgw test ${String(process.pid)}`;
    const first = await holdName(name);
    expect(first).toBeDefined();
    expect(await holdName(name)).toBeUndefined();
    const other = await holdName(`${name} 2`);
    expect(other).toBeDefined();
    await first?.release();
    const second = await holdName(name);
    expect(second).toBeDefined();
    await Promise.all([second?.release(), other?.release()]);
  },
);

test("a name that cannot be is held by nobody, and refuses nobody", async () => {
  const lock = await holdName("x".repeat(500));
  expect(lock).toBeDefined();
  await lock?.release();
});
