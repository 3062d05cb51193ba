import { describe, expect, test } from "vitest";
import { readHubSettings } from "./hub-env.ts";
import { asHash, fileUrl, hubFailure, infoUrl, nextPage, parseInfo, parseTree, readFileHead } from "./hub-protocol.ts";

const SHA = "a".repeat(64);

describe("addresses", () => {
  test("each part of a path is encoded for itself", () => {
    expect(fileUrl("https://hub", "org/repo", { commit: "c1", file: "a b/ü#1.gguf" })).toBe(
      "https://hub/org/repo/resolve/c1/a%20b/%C3%BC%231.gguf",
    );
    expect(infoUrl("https://hub", "org/repo", "refs/pr/1")).toBe(
      "https://hub/api/models/org/repo/revision/refs%2Fpr%2F1",
    );
  });
});

describe("parseTree", () => {
  test("large files have the size and hash of the file, not of the pointer", () => {
    const body = JSON.stringify([
      { type: "directory", path: "q4", oid: "x", size: 0 },
      {
        type: "file",
        path: "q4/m.gguf",
        size: 134,
        oid: "f".repeat(40),
        lfs: { oid: SHA, size: 4000, pointerSize: 134 },
      },
      { type: "file", path: "config.json", size: 571, oid: "b".repeat(40) },
    ]);
    expect(parseTree(body)).toEqual([
      { name: "q4/m.gguf", bytes: 4000, sha256: SHA },
      { name: "config.json", bytes: 571, sha256: undefined },
    ]);
  });

  test.each(["../../etc/passwd", "/etc/passwd", "a/../b", ".git/config", "a\\b"])(
    "a file named %s is never offered",
    (path) => {
      expect(parseTree(JSON.stringify([{ type: "file", path, size: 1 }]))).toEqual([]);
    },
  );

  test.each(["", "{}", "<html>", "null", "[1,null,{}]"])("%s is no crash", (body) => {
    expect(parseTree(body) ?? []).toEqual([]);
  });
});

test.each([
  { body: '{"sha":"c1","siblings":[{"rfilename":"m.gguf"}]}', commit: "c1" },
  { body: '{"sha":"../x"}', commit: undefined },
  { body: "[]", commit: undefined },
  { body: "<html>", commit: undefined },
])("a description $body gives the commit $commit", ({ body, commit }) => {
  expect(parseInfo(body)?.commit).toBe(commit);
});

test.each([
  { etag: `"${SHA}"`, want: SHA },
  { etag: `W/"${SHA.toUpperCase()}"`, want: SHA },
  { etag: `"${"b".repeat(40)}"`, want: undefined },
  { etag: undefined, want: undefined },
])("the etag $etag is the hash $want", ({ etag, want }) => {
  expect(asHash(etag)).toBe(want);
});

test("X-Linked headers win over those of the redirect itself", () => {
  const headers = { "x-linked-etag": `"${SHA}"`, "x-linked-size": "4000", etag: '"r"', "content-length": "300" };
  expect(readFileHead(headers)).toEqual({ bytes: 4000, sha256: SHA });
});

test.each([
  { link: '</api/x?cursor=2>; rel="next"', want: "https://hub/api/x?cursor=2" },
  { link: '<https://hub/p>; rel="prev", <https://hub/n>; rel="next"', want: "https://hub/n" },
  { link: "", want: undefined },
])("the next page of $link is $want", ({ link, want }) => {
  expect(nextPage(link === "" ? {} : { link }, "https://hub/api/x")).toBe(want);
});

describe("hubFailure", () => {
  const asked = { repo: "org/m", revision: "v9", endpoint: "https://hub", hasToken: false };
  test.each([
    { name: "gated", status: 401, code: "GatedRepo", kind: "auth", says: "accept its terms at https://hub/org/m" },
    { name: "forbidden", status: 403, code: "", kind: "auth", says: "HF_TOKEN" },
    { name: "private or none", status: 401, code: "RepoNotFound", kind: "auth", says: "HF_TOKEN" },
    { name: "no such revision", status: 404, code: "RevisionNotFound", kind: "not-found", says: "v9" },
    { name: "masked", status: 404, code: "", kind: "not-found", says: "private" },
  ])("$name", ({ status, code, kind, says }) => {
    const failure = hubFailure(status, { "x-error-code": code }, asked);
    expect(failure).toMatchObject({ kind, retry: false, message: expect.stringContaining(says) as string });
    expect(failure.message).toContain("org/m");
  });

  test("anything else may pass", () => {
    expect(hubFailure(500, {}, asked)).toMatchObject({ kind: "http", retry: true });
  });
});

describe("readHubSettings", () => {
  test.each([
    {
      name: "the defaults",
      env: { HOME: "/h" },
      want: {
        endpoint: "https://huggingface.co",
        cache: "/h/.cache/huggingface/hub",
        tokenPath: "/h/.cache/huggingface/token",
      },
    },
    {
      name: "a mirror with a slash",
      env: { HF_ENDPOINT: "https://m.example/" },
      want: { endpoint: "https://m.example", cache: undefined },
    },
    { name: "HF_HOME", env: { HOME: "/h", HF_HOME: "/x" }, want: { cache: "/x/hub", tokenPath: "/x/token" } },
    { name: "HF_HUB_CACHE", env: { HF_HOME: "/x", HF_HUB_CACHE: "/c" }, want: { cache: "/c" } },
    { name: "the old name of the cache", env: { HUGGINGFACE_HUB_CACHE: "/c" }, want: { cache: "/c" } },
    { name: "a token with its line end", env: { HF_TOKEN: "hf_x\n" }, want: { token: "hf_x" } },
    { name: "an empty token", env: { HF_TOKEN: "" }, want: { token: undefined } },
    { name: "offline", env: { TRANSFORMERS_OFFLINE: "True" }, want: { isOffline: true } },
    { name: "not offline", env: { HF_HUB_OFFLINE: "0" }, want: { isOffline: false } },
  ])("$name", ({ env, want }) => {
    expect(readHubSettings(env)).toMatchObject(want);
  });
});
