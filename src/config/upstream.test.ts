import { describe, expect, test } from "vitest";
import type { Upstream } from "../core/upstream.ts";
import { parseManifest } from "./manifest.ts";
import { renderProblems } from "./problem.ts";
import { upstreamManifest } from "./upstream.ts";

const LEAST = "kind: Upstream\nname: cloud\nurl: https://api.example\n";

function upstreamOf(text: string): Upstream {
  const parsed = parseManifest(text, "u.yaml");
  if (!parsed.ok) throw new Error(renderProblems(parsed.error));
  const [object] = parsed.value;
  if (object?.kind !== "Upstream") throw new Error("no upstream");
  return object.upstream;
}

function problemsOf(text: string): string {
  const parsed = parseManifest(text, "u.yaml");
  return parsed.ok ? "" : renderProblems(parsed.error);
}

describe("an upstream", () => {
  test("with all it can have", () => {
    const text = `${LEAST}api_key: file:/run/key\nca: /run/ca.pem\nmodels: { big: org/Big-1 }\nconcurrency: 8\n`;
    expect(upstreamOf(text)).toEqual({
      ...{ name: "cloud", url: "https://api.example", keyFile: "/run/key", caFile: "/run/ca.pem", concurrency: 8 },
      models: [{ name: "big", remote: "org/Big-1" }],
    });
  });

  test.each([
    `${LEAST}models: [a, b/c]\n`,
    `${LEAST}models: { a: "a", b: "other name" }\n`,
    `${LEAST}api_key: file:/run/key\nca: /run/ca.pem\nmodels: [a]\nconcurrency: 1\n`,
  ])("is written as a manifest that is read back to it: %s", (text) => {
    expect(upstreamOf(upstreamManifest(upstreamOf(text)))).toEqual(upstreamOf(text));
  });

  test.each([
    ["models: []", "u.yaml:4: models must not be an empty list"],
    ["models: {}", "u.yaml:4: models must not be empty; name at least one model"],
    ["models: [a, b, a]", "u.yaml:4: models holds a twice"],
    ["models: a", "u.yaml:4: models must be a list, or a map of keys"],
    ["models: [a b]", "u.yaml:4: models[0] must be a model name"],
    ["models: { 'a b': c }", 'u.yaml:4: the key "a b" in models must be a model name'],
    ["models: [a]\nca: /run/ca.pem\nurl: http://x", "twice"],
    ["models: [a]\nconcurrency: 0", "u.yaml:5: concurrency must be a whole number from 1"],
    ["models: [a]\napi_key: file:run/key", "u.yaml:5: api_key must name a file by its absolute path"],
    ["models: [a]\napi_keys: x", "u.yaml:5: api_keys is not a known key; did you mean api_key?"],
  ])("%s: %s", (lines, problem) => {
    expect(problemsOf(`${LEAST}${lines}\n`)).toContain(problem);
  });

  test.each([
    ["http://user:pw@x", "url must not hold a user or a password"],
    ["https://x/v1?key=1", 'url must end before any "?" or "#"'],
    ["ftp://x", "url must be an http:// or https:// address"],
  ])("the address %s is refused: %s", (url, problem) => {
    expect(problemsOf(`kind: Upstream\nname: c\nurl: ${url}\nmodels: [a]\n`)).toContain(problem);
  });

  test("an authority is for TLS", () => {
    const problem = problemsOf("kind: Upstream\nname: c\nurl: http://x\nca: /c.pem\nmodels: [a]\n");
    expect(problem).toContain("u.yaml:4: ca is for an address that begins with https://");
  });

  test("a key that stands in the manifest itself is refused, and not said back", () => {
    const problem = problemsOf(`${LEAST}api_key: sk-secret-1234\nmodels: [a]\n`);
    expect(problem).toContain("u.yaml:4: api_key must name a file as file:/path");
    expect(problem).not.toContain("sk-secret");
  });

  test("its model names are nobody else's", () => {
    const profile = "kind: Profile\nname: big\nmodel: { source: hf:a/b }\n";
    const other = LEAST.replace("cloud", "second");
    const text = `${profile}---\n${LEAST}models: [x, big]\n---\n${other}models: { x: y }\n`;
    expect(problemsOf(text).split("\n")).toEqual([
      "u.yaml:8: the model name big is already taken by Profile big",
      "u.yaml:13: the model name x is already taken by Upstream cloud",
    ]);
  });
});
