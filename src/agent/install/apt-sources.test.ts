import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { debianMirror, readDeb822, readOneLine, readOsRelease } from "./apt-sources.ts";

describe("sources of apt", () => {
  test("paragraphs of fields", () => {
    const text = `# A comment
Types: deb deb-src
URIs: http://mirror.example/debian
# http://snapshot.example
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://a.example/debian https://b.example/debian
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm
Components: main
`;
    expect(readDeb822(text)).toEqual([
      {
        uri: "http://mirror.example/debian",
        suites: ["bookworm", "bookworm-updates"],
        components: ["main", "contrib"],
        signedBy: "/usr/share/keyrings/debian-archive-keyring.gpg",
      },
      { uri: "http://a.example/debian", suites: ["bookworm-security"], components: ["main"], signedBy: undefined },
      { uri: "https://b.example/debian", suites: ["bookworm-security"], components: ["main"], signedBy: undefined },
    ]);
  });

  test("one a line", () => {
    const text = `# deb http://off.example/debian bookworm main
deb http://mirror.example/debian bookworm main non-free # ours
deb [arch=amd64 signed-by=/etc/apt/keys.gpg] mirror+file:/etc/apt/mirrors.list bookworm main
deb-src http://mirror.example/debian bookworm main
nonsense
`;
    expect(readOneLine(text)).toEqual([
      {
        uri: "http://mirror.example/debian",
        suites: ["bookworm"],
        components: ["main", "non-free"],
        signedBy: undefined,
      },
      {
        uri: "mirror+file:/etc/apt/mirrors.list",
        suites: ["bookworm"],
        components: ["main"],
        signedBy: "/etc/apt/keys.gpg",
      },
    ]);
  });

  test("no text makes them throw", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("deb ", "Types:", "URIs: x", "[", "]", " ", "\n", "#", "a") }),
        (text) => {
          readDeb822(text);
          readOneLine(text);
        },
      ),
    );
  });
});

describe("debianMirror", () => {
  const source = (uri: string, suite: string, components: readonly string[] = ["main"]) => ({
    uri,
    suites: [suite],
    components,
    signedBy: undefined,
  });

  test.each([
    {
      name: "the one of the machine's own release",
      sources: [source("http://s/debian-security", "bookworm-security"), source("http://m/debian", "bookworm")],
      want: "http://m/debian",
    },
    { name: "not others' archives", sources: [source("https://deb.nodesource.com/node", "nodistro")], want: undefined },
    {
      name: "not a part without main",
      sources: [source("http://m/debian", "bookworm", ["non-free"])],
      want: undefined,
    },
    {
      name: "not a disc",
      sources: [source("cdrom:[Debian]", "bookworm"), source("http://m/d", "stable")],
      want: "http://m/d",
    },
  ])("$name", ({ sources, want }) => {
    expect(debianMirror(sources, "bookworm")?.uri).toBe(want);
  });
});

test("who this system is", () => {
  const text = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\nVERSION_ID="12"\n';
  expect(readOsRelease(text)).toEqual({ id: "debian", codename: "bookworm" });
  expect(readOsRelease("")).toEqual({ id: "", codename: "" });
});
