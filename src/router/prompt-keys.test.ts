import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../test/fakes/cut.ts";
import type { PromptKeys } from "../routing/prompt.ts";
import { keysForModel, promptKeys } from "./prompt-keys.ts";
import { BodyScanner } from "./scan-body.ts";

interface Sent {
  readonly session?: string;
  readonly model?: string;
  readonly cuts?: readonly number[];
}

function keysOf(body: unknown, { session = "", model = "m", cuts = [] }: Sent = {}): PromptKeys {
  const chunks = cut(Buffer.from(JSON.stringify(body)), cuts);
  const scanner = new BodyScanner();
  for (const chunk of chunks) scanner.push(chunk);
  expect(scanner.finish().ok).toBe(true);
  return keysForModel(promptKeys({ chunks, spans: scanner.spans(), session }), model);
}

const system = (content: string) => ({ role: "system", content });
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const chat = (...messages: readonly unknown[]) => ({ model: "m", messages });
const shared = (a: PromptKeys, b: PromptKeys): number => a.keys.filter((key) => b.keys.includes(key)).length;

describe("beginnings that requests share", () => {
  const first = chat(system("You are kind."), user("Hello"));

  test.each([
    {
      name: "the next turn: both messages",
      other: chat(system("You are kind."), user("Hello"), assistant("Hi"), user("?")),
      want: 2,
    },
    {
      name: "another conversation over the same system prompt: that",
      other: chat(system("You are kind."), user("Bye")),
      want: 1,
    },
    { name: "another system prompt: nothing", other: chat(system("You are not."), user("Hello")), want: 0 },
    { name: "other tools: nothing, for engines read them first", other: { ...first, tools: [{ name: "x" }] }, want: 0 },
    {
      name: "other settings around it: everything",
      other: { temperature: 1, ...first, max_tokens: 5, stream: true },
      want: 2,
    },
  ])("$name", ({ other, want }) => {
    expect(shared(keysOf(first), keysOf(other))).toBe(want);
  });

  test("another model shares nothing: its engines have caches of their own", () => {
    expect(shared(keysOf(first), keysOf(first, { model: "n" }))).toBe(0);
  });

  test.each([
    { name: "a text", body: (text: string) => ({ prompt: text }), want: 3 },
    { name: "one long message", body: (text: string) => chat(user(text)), want: 3 },
  ])("$name without borders has one at each doubling from 1 KiB", ({ body, want }) => {
    const document = "many words ".repeat(500);
    expect(shared(keysOf(body(`${document} What?`)), keysOf(body(`${document} Why?`)))).toBe(want);
  });

  test("Messages: system apart, and Responses: instructions and input", () => {
    const messages = { system: "Be kind.", messages: [user("Hello")] };
    expect(shared(keysOf(messages), keysOf({ ...messages, messages: [user("Bye")] }))).toBe(1);
    const responses = { instructions: "Be kind.", input: [user("Hello")] };
    expect(
      shared(keysOf(responses), keysOf({ ...responses, input: [user("Hello"), assistant("Hi"), user("?")] })),
    ).toBe(2);
  });
});

describe("what a conversation is known by", () => {
  const of = (body: unknown, sent?: Sent): number | undefined => keysOf(body, sent).conversation;
  const turns = [user("Hello"), assistant("Hi"), user("?")];

  test.each([
    { name: "its first message", one: chat(...turns.slice(0, 1)), two: chat(...turns) },
    {
      name: "its second behind a system prompt",
      one: chat(system("s"), ...turns.slice(0, 1)),
      two: chat(system("s"), ...turns),
    },
    {
      name: "the cache key that the client gives",
      one: { prompt_cache_key: "k", prompt: "a" },
      two: { prompt_cache_key: "k", prompt: "b" },
    },
    { name: "the user that it names", one: { user: "u", prompt: "a" }, two: { prompt: "b", user: "u" } },
    {
      name: "the cache key before the user",
      one: { prompt_cache_key: "k", user: "u" },
      two: { prompt_cache_key: "k", user: "v" },
    },
  ])("$name", ({ one, two }) => {
    expect(of(one)).toBeDefined();
    expect(of(one)).toBe(of(two));
  });

  test("two conversations over one system prompt are two", () => {
    expect(of(chat(system("s"), user("a")))).not.toBe(of(chat(system("s"), user("b"))));
  });

  test("a session's key comes before what strangers share and behind what only it has said", () => {
    const body = chat(system("s"), ...turns);
    const plain = keysOf(body).keys;
    const { keys, conversation } = keysOf(body, { session: "s-1" });
    expect(keys.toSpliced(1, 1)).toEqual(plain);
    expect(conversation).toBe(keysOf(chat(user("other")), { session: "s-1" }).conversation);
    expect(conversation).not.toBe(keysOf(body).conversation);
  });

  test("nothing, where there is nothing", () => {
    expect(keysOf({ model: "m" })).toEqual({ keys: [], conversation: undefined });
  });
});

test("the same keys whatever pieces the body comes in, and never many", () => {
  const messages = fc.array(
    fc.record({ role: fc.constantFrom("system", "user"), content: fc.string({ maxLength: 900 }) }),
    {
      maxLength: 40,
    },
  );
  fc.assert(
    fc.property(messages, fc.array(fc.nat(), { maxLength: 10 }), (list, cuts) => {
      const keys = keysOf(chat(...list), { cuts });
      expect(keys).toEqual(keysOf(chat(...list)));
      expect(keys.keys.length).toBeLessThan(32);
    }),
  );
});

test("a body with very many elements costs a few keys", () => {
  expect(keysOf({ input: [...Array(100_000).keys()] }).keys.length).toBeLessThan(32);
});

test("of long messages samples are read: what differs at an end or for long makes other keys, whatever the pieces", () => {
  const long = (begin: string, middle: string, end: string) =>
    keysOf(chat({ role: "user", content: begin + middle.repeat(8_000) + end }), { cuts: [700, 9_001, 20_000] });
  const keys = long("a", "m", "z");
  expect(keysOf(chat({ role: "user", content: `a${"m".repeat(8_000)}z` }))).toEqual(keys);
  for (const other of [long("b", "m", "z"), long("a", "n", "z"), long("a", "m", "y")]) {
    expect(other.keys.at(-1)).not.toBe(keys.keys.at(-1));
    expect(other.conversation).not.toBe(keys.conversation);
  }
});
