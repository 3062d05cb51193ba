import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSource } from "./source.ts";

describe("model sources", () => {
  const hub = { kind: "hf", file: undefined, revision: undefined };
  test.each([
    ["hf:Qwen/Qwen3-32B", { ...hub, repo: "Qwen/Qwen3-32B" }],
    ["hf:Qwen/Qwen3-32B@main", { ...hub, repo: "Qwen/Qwen3-32B", revision: "main" }],
    ["hf:a/b@refs/pr/1", { ...hub, repo: "a/b", revision: "refs/pr/1" }],
    ["hf:a/b/x-Q4.gguf", { ...hub, repo: "a/b", file: "x-Q4.gguf" }],
    ["hf:a/b/Q4/x.gguf@0123abc", { ...hub, repo: "a/b", file: "Q4/x.gguf", revision: "0123abc" }],
    ["https://example.org/m/x.gguf", { kind: "https", url: "https://example.org/m/x.gguf", file: "x.gguf" }],
    ["https://example.org/a%20b.gguf?t=1", { kind: "https", file: "a b.gguf" }],
    ["http://127.0.0.1:8000/x.gguf", { kind: "https", file: "x.gguf" }],
    ["file:/srv/x.gguf", { kind: "file", path: "/srv/x.gguf" }],
    ["file:///srv/x.gguf", { kind: "file", path: "/srv/x.gguf" }],
    ["dir:/srv/qwen", { kind: "dir", path: "/srv/qwen" }],
    ["pypi:llm-x/llm_x/a.gguf", { kind: "pypi", project: "llm-x", path: "llm_x/a.gguf" }],
    ["tiny:", { kind: "tiny" }],
  ])("%s", (text, want) => {
    expect(parseSource(text)).toMatchObject({ ok: true, value: want });
  });

  test.each([
    ["Qwen/Qwen3-32B", "did you mean hf:Qwen/Qwen3-32B?"],
    ["/srv/x.gguf", "did you mean file:/srv/x.gguf or dir:/srv/x.gguf?"],
    ["hf:gpt2", "organisation and repository"],
    ["hf:a/b@", "not a revision"],
    ["hf:a/b@../c", "not a revision"],
    ["hf:a/b/../../etc/passwd", "plain relative path"],
    ["hf:a/b/", "plain relative path"],
    ["hf:../b", "organisation and repository"],
    ["hf:a/b/c\\d", "plain relative path"],
    ["http://example.org/x.gguf", "write https://"],
    ["https://me:pw@example.org/x.gguf", "name or password"],
    ["https://example.org/", "name of a file"],
    ["https://example.org/%2e%2e%2fx", "name of a file"],
    ["https://example.org/%ff", "name of a file"],
    ["https:/x", "not an address"],
    ["file:x.gguf", "absolute path"],
    ["file://host/x", "absolute path"],
    ["dir:/srv/../etc", 'must not hold ".."'],
    ["pypi:llm-x", "name the file in the wheel"],
    ["pypi:/x", "not the name of a package"],
    ["pypi:a/../x", "plain relative path"],
    ["tiny:x", 'nothing may follow "tiny:"'],
    ["ftp://x/y", "is not a model source"],
    ["constructor:x", "is not a model source"],
    ["", "is not a model source"],
    ["hf:a/b\nc", "control characters"],
  ])("%j is refused with the reason", (text, want) => {
    const parsed = parseSource(text);
    expect(parsed.ok ? parsed.value : parsed.error).toContain(want);
  });

  test("any text gives an answer", () => {
    fc.assert(
      fc.property(fc.constantFrom("", "hf:", "https://", "file:", "pypi:", "dir:/"), fc.string(), (scheme, rest) => {
        expect(typeof parseSource(scheme + rest).ok).toBe("boolean");
      }),
    );
  });
});
