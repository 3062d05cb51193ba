import { expect, test } from "vitest";
import { Flags } from "./command.ts";
import { readToken } from "./secret-input.ts";

function typing(keys: readonly string[], isTTY: boolean) {
  const seen: string[] = [];
  const modes: boolean[] = [];
  const stream = { write: (text: string) => seen.push(text) > 0 };
  const stdin = {
    isTTY,
    setRawMode: (raw: boolean) => modes.push(raw),
    async *[Symbol.asyncIterator]() {
      for (const key of keys) yield await Promise.resolve(key);
    },
  };
  const call = { args: [], flags: new Flags(new Map()), io: { env: {}, stdin, stdout: stream, stderr: stream } };
  return { seen, modes, read: () => readToken(call, "the token") };
}

test.each([
  { name: "pasted", keys: ["llmgw-x\r"], token: "llmgw-x" },
  { name: "key by key, with a mistake", keys: ["a", "x", "\u007f", "b", "\n", "c"], token: "ab" },
  { name: "ended by Ctrl-D", keys: ["ab\u0004"], token: "ab" },
  { name: "with spaces around it", keys: [" ab \r"], token: "ab" },
])("at a terminal: $name; it is never shown, and the terminal is as before", async ({ keys, token }) => {
  const { seen, modes, read } = typing(keys, true);
  expect(await read()).toBe(token);
  expect(seen.join("")).toBe("Paste the token (it is not shown): \n");
  expect(modes).toEqual([true, false]);
});

test("Ctrl-C ends it, and leaves the terminal as it was", async () => {
  const { modes, read } = typing(["ab", "\u0003"], true);
  await expect(read()).rejects.toThrow(/Interrupted/);
  expect(modes).toEqual([true, false]);
});

test("from a pipe nothing is asked", async () => {
  const { seen, read } = typing(["llm", "gw\n"], false);
  expect(await read()).toBe("llmgw");
  expect(seen).toEqual([]);
});

test("nothing is no token", async () => {
  await expect(typing(["\n"], false).read()).rejects.toThrow(/No token was given/);
});
