import { expect, test } from "vitest";
import { type ContextFile, parseContexts, renderContexts, withContext, withoutContext } from "./contexts.ts";

const up = { server: "http://127.0.0.1:7443", token: "secret" };

test("what is written is what is read", () => {
  const file = withContext({ contexts: { lab: { server: "https://lab:7443", ca: "/ca.pem" } } }, "up", up);
  expect(parseContexts(renderContexts(file))).toEqual({ ok: true, value: file });
  expect(file.current).toBe("up");
});

test("an empty file knows no control plane", () => {
  expect(parseContexts("")).toEqual({ ok: true, value: { contexts: {} } });
});

test("the context is replaced, the others stay, the old value is not changed", () => {
  const before: ContextFile = { current: "a", contexts: { a: up, b: up } };
  const after = withContext(before, "b", { server: "http://127.0.0.1:1" });
  expect(Object.keys(after.contexts)).toEqual(["a", "b"]);
  expect(before.contexts["b"]).toBe(up);
});

test.each([
  { name: "not YAML", text: "contexts: [" },
  { name: "unknown key", text: "context: {}" },
  { name: "no server", text: "contexts: { a: { token: x } }" },
  { name: "not an address", text: "contexts: { a: { server: 'lab' } }" },
  { name: "a certificate without its key", text: "contexts: { a: { server: https://a:1, cert: a.pem } }" },
  { name: "duplicate key", text: "current: a\ncurrent: b" },
  { name: "an alias of nothing", text: "current: *a" },
  { name: "a map as a name", text: "contexts: { ? { a: b } : { server: http://a:1 } }" },
  { name: "maps as names within each other", text: `contexts: {\n${"? ".repeat(300)}a: b }` },
])("$name is refused", ({ text }) => {
  expect(parseContexts(text).ok).toBe(false);
});

test("a name of digits is a name", () => {
  expect(parseContexts("contexts: { 1: { server: http://a:1 } }")).toMatchObject({
    ok: true,
    value: { contexts: { "1": { server: "http://a:1" } } },
  });
});

test("without it the one before is current again, if there still is one", () => {
  const file: ContextFile = { current: "b", contexts: { a: up, b: up } };
  expect(withoutContext(file, "b", "a")).toEqual({ current: "a", contexts: { a: up } });
  expect(withoutContext(file, "b", "gone")).toEqual({ contexts: { a: up } });
  expect(withoutContext({ ...file, current: "a" }, "b", undefined)).toEqual({ current: "a", contexts: { a: up } });
  expect(withoutContext(file, "c", "a")).toBe(file);
});

test("what is wrong is told with its line, and never with what stands there", () => {
  const parsed = parseContexts("current: a\ncontexts:\n  a: { server: http://a:1, token: llmgw-user-secret");
  expect(parsed).toMatchObject({ ok: false, error: [expect.stringMatching(/^line 3: /)] });
  expect(JSON.stringify(parsed)).not.toContain("secret");
});

test("a file of many empty lines takes no longer than one of words", () => {
  const parsed = parseContexts(`a: [${"\n".repeat(200_000)}*`);
  expect(parsed.ok).toBe(false);
});
