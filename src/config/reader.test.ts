import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ok } from "../core/result.ts";
import { duration, flag, integer, number, secret, setting, text } from "./fields.ts";
import { renderProblems } from "./problem.ts";
import { type ConfigSource, readConfig } from "./reader.ts";

/** The shapes that the field cases are told in. */
const limits = z.strictObject({
  rpm: setting(integer({ min: 0, max: 1_000_000 }).optional(), "Requests a minute.", "none"),
  max_age: setting(duration().optional(), "Age.", "none"),
  share: setting(number({ min: 0, max: 1 }).optional(), "Share.", "none"),
});
const model = z.strictObject({
  path: setting(text(), "Path."),
  hidden: setting(flag().prefault(false), "Hidden."),
});
const schema = z.strictObject({
  limits: setting(limits.prefault({}), "Limits."),
  models: setting(z.record(text(), model).prefault({}), "Models."),
  list: setting(
    z
      .array(
        z.strictObject({
          a: setting(integer({ min: 0, max: 9 }), "A."),
          b: setting(integer({ min: 0, max: 9 }).optional(), "B.", "none"),
        }),
      )
      .prefault([]),
    "List.",
  ),
  note: setting(text().optional(), "Note.", "none"),
  password: setting(secret().optional(), "Password.", "none"),
});

const kind = { schema, rules: () => [] };
const source = (content: string | Uint8Array, more: Partial<ConfigSource> = {}): ConfigSource => ({
  text: content,
  file: "x.yaml",
  env: {},
  readSecret: () => ok("from-file\n"),
  ...more,
});

function problems(content: string | Uint8Array, more: Partial<ConfigSource> = {}): string {
  const read = readConfig(kind, source(content, more));
  return read.ok ? "no problems" : renderProblems(read.error);
}

function value(content: string | Uint8Array, more: Partial<ConfigSource> = {}): unknown {
  const read = readConfig(kind, source(content, more));
  if (!read.ok) throw new Error(renderProblems(read.error));
  return read.value;
}

const defaults = { limits: {}, models: {}, list: [] };

describe("B140 unknown keys", () => {
  test.each([
    ["a hyphen", "limits:\n  max-age: 300s\n", "x.yaml:2: limits.max-age is not a known key; did you mean max_age?"],
    ["capitals", "limits:\n  maxAge: 300s\n", "x.yaml:2: limits.maxAge is not a known key; did you mean max_age?"],
    ["a slip", "limits:\n  rmp: 3\n", "x.yaml:2: limits.rmp is not a known key; did you mean rpm?"],
    ["a key that belongs deeper", "rpm: 3\n", "x.yaml:1: rpm is not a known key; rpm belongs under limits"],
    [
      "a key that belongs higher",
      "limits:\n  note: x\n",
      "x.yaml:2: limits.note is not a known key; note belongs at the top level",
    ],
    ["in a list", "list:\n  - a: 1\n  - a: 1\n    bb: 2\n", "x.yaml:4: list[1].bb is not a known key; did you mean b?"],
    [
      "in a map of models",
      "models:\n  m: {path: x, pth: y}\n",
      "x.yaml:2: models.m.pth is not a known key; did you mean path?",
    ],
    [
      "nothing near",
      "zzzzzz: 1\n",
      "x.yaml:1: zzzzzz is not a known key; known here: limits, models, list, note, password",
    ],
    [
      "a key of every object",
      "toString: 1\n",
      "x.yaml:1: toString is not a known key; known here: limits, models, list, note, password",
    ],
    [
      "another one",
      "__proto__: {rpm: 1}\n",
      "x.yaml:1: __proto__ is not a known key; known here: limits, models, list, note, password",
    ],
  ])("%s", (_, content, want) => {
    expect(problems(content)).toBe(want);
  });
});

describe("B142 duplicate keys", () => {
  test("in a map, with both lines", () => {
    expect(problems("models:\n  a: {path: /x}\n  a: {path: /y}\n")).toBe(
      "x.yaml:3: the key a is there twice, on line 2 and on line 3; keep one of them",
    );
  });

  test("of blocks at the top, and what is wrong in them", () => {
    expect(problems("limits:\n  rpm: 1\nnote: x\nlimits:\n  rpm: 2\n")).toBe(
      "x.yaml:4: the key limits is there twice, on line 1 and on line 4; keep one of them",
    );
  });

  test("in one line, and quoted differently", () => {
    expect(problems("limits: {rpm: 1, 'rpm': 2}\n")).toContain("the key rpm is there twice");
  });

  test("a merge key may override", () => {
    const content =
      "models:\n  a: &base {path: /x, hidden: true}\n  b:\n    <<: *base\n    path: /y\n  c: {<<: [*base, {path: /z}]}\n";
    expect(value(content)).toEqual({
      ...defaults,
      models: { a: { path: "/x", hidden: true }, b: { path: "/y", hidden: true }, c: { path: "/x", hidden: true } },
    });
  });

  test.each([
    ["two merge keys", "models:\n  a: &a {path: x}\n  b:\n    <<: *a\n    <<: *a\n", "the key << is there twice"],
    ["a merge of no map", "limits: {<<: 3}\n", "<< can merge only maps"],
    ["an anchor that is nowhere", "note: *nope\n", "no &nope stands before it"],
    ["an anchor that holds itself", "list: &a [*a]\n", "no &a stands before it"],
    ["a list for a key", "? [a]\n: 1\n", "a key must be a plain word"],
  ])("%s is refused", (_, content, want) => {
    expect(problems(content)).toContain(want);
  });

  test("anchors cannot make a small file huge", () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `  a${String(i)}: &l${String(i)} [${`*l${String(i - 1)}, `.repeat(10)}1]`,
    );
    expect(
      problems(`models:\n  x: &l-1 [1]\n${levels.join("\n").replaceAll("l-1", "l_1").replaceAll("*l_1", "1")}\n`),
    ).toContain("stands for more than 100000 values");
  });
});

describe("B144 tabs", () => {
  test("for indentation", () => {
    expect(problems("limits:\n\trpm: 5\n")).toBe(
      "x.yaml:2: this line is indented with a tab; use spaces: YAML takes no tabs there",
    );
  });

  test("before a comment they are fine", () => {
    expect(value("limits:\n  rpm: 5\t# five\n")).toEqual({ ...defaults, limits: { rpm: 5 } });
    expect(value("limits:\t\n\t\n  rpm:\t5\n")).toEqual({ ...defaults, limits: { rpm: 5 } });
  });

  test.each([
    [
      "each line is named, and so is what else is wrong",
      "limits:\n\trpm: 5\n\tmax_age: 5 seconds\nnotes: x\n",
      [2, 3, 3, 4],
    ],
    ["in a file of four spaces", "limits:\n    rpm: 5\n\tshare: 7\n", [3, 3]],
    ["after spaces", "limits:\n  rpm: 5\n  \tshare: 1\nnotes: 1\n", [3, 4]],
    ["in a list", "list:\n\t- a: 1\n\t  b: 2\n", [2, 3]],
    ["after a dash", "list:\n  - \ta: 1\n", [2]],
    ["in a list on several lines", "list: [{a: 1},\n\t{a: 2}]\n", [2]],
    ["alone at the top", "\tnote: x\n", [1]],
  ])("%s", (_, content, lines) => {
    const read = readConfig(kind, source(content));
    expect(read.ok ? [] : read.error.map(({ line }) => line)).toEqual(lines);
    expect(problems(content)).toContain("tab");
  });
});

describe("B145 byte-order marks, line endings and empty files", () => {
  const utf16 = (content: string, bigEndian: boolean, mark: boolean): Uint8Array => {
    const buffer = Buffer.from((mark ? "\uFEFF" : "") + content, "utf16le");
    return bigEndian ? buffer.swap16() : buffer;
  };
  const list = { ...defaults, list: [{ a: 1, b: 2 }] };

  test.each([
    ["bytes with a mark and CRLF", Buffer.from("\uFEFFlist:\r\n- a: 1\r\n  b: 2\r\n")],
    ["a text with a mark", "\uFEFFlist:\n- a: 1\n  b: 2\n"],
    ["old line endings", "list:\r- a: 1\r  b: 2\r"],
    ["no line ending at the end", "list:\n- a: 1\n  b: 2"],
  ])("%s", (_, content) => {
    expect(value(content)).toEqual(list);
  });

  test("a mark shifts no column", () => {
    const read = readConfig(kind, source(Buffer.from("\uFEFFnoet: 1\r\n")));
    expect(read.ok ? undefined : read.error[0]).toMatchObject({ line: 1, column: 1, path: "noet" });
  });

  test.each([
    ["UTF-16 with a mark", utf16("note: x\n", false, true), "is in UTF-16; save it as UTF-8"],
    ["the other UTF-16", utf16("note: x\n", true, true), "is in UTF-16; save it as UTF-8"],
    ["UTF-16 without a mark", utf16("note: x\n", false, false), "is in UTF-16; save it as UTF-8"],
    ["the other without a mark", utf16("note: x\n", true, false), "is in UTF-16; save it as UTF-8"],
    ["Latin-1", Buffer.from("note: caf\u00e9\n", "latin1"), "is not in UTF-8"],
    ["zero bytes", Buffer.from("note: x\nlimits: \0\n"), "holds zero bytes"],
    ["something huge", "#".repeat(5_000_000), "is larger than 4 MiB"],
  ])("%s", (_, content, want) => {
    expect(problems(content)).toContain(`x.yaml:1: the file ${want}`);
  });

  test.each([
    ["empty", ""],
    ["comments only", "# nothing\n\n# at all\n"],
    ["a mark only", "\uFEFF"],
    ["a document without content", "---\n"],
    ["two of them", "---\n# x\n---\n...\n"],
    ["null", "null\n"],
    ["keys without values", "limits:\nmodels:\nlist:\nnote:\n"],
    ["a commented-out block", "limits:\n#  rpm: 5\n"],
  ])("%s: the defaults hold", (_, content) => {
    expect(value(content)).toEqual(defaults);
  });

  test("a missing key is named", () => {
    expect(problems("models:\n  m:\n")).toBe("x.yaml:2: models.m has no value");
    expect(problems("models:\n  m: {}\n")).toBe("x.yaml:2: models.m.path is missing");
    expect(problems("models:\n  m: {path: }\n")).toBe("x.yaml:2: models.m.path has no value");
  });
});

describe("wrong types and values", () => {
  test.each([
    ["limits: 5\n", "limits must be a map of keys, but is 5"],
    ["limits: [1]\n", "limits must be a map of keys, but is a list"],
    ["list: {a: 1}\n", "list must be a list, but is a map of keys"],
    ["list: [1]\n", "list[0] must be a map of keys, but is 1"],
    ["limits: {rpm: many}\n", 'limits.rpm must be a whole number from 0 to 1000000, but is "many"'],
    [
      "limits: {rpm: '5'}\n",
      'limits.rpm must be a whole number from 0 to 1000000, but is "5" in quotes; leave the quotes out',
    ],
    ["limits: {rpm: -1}\n", "limits.rpm must be a whole number from 0 to 1000000, but is -1"],
    ["limits: {rpm: 1.5}\n", "limits.rpm must be a whole number from 0 to 1000000, but is 1.5"],
    ["limits: {rpm: .nan}\n", "limits.rpm must be a whole number from 0 to 1000000, but is NaN"],
    ["limits: {rpm: 99999999999999999999}\n", "limits.rpm must be a whole number"],
    ["limits: {share: 1.01}\n", "limits.share must be a number from 0 to 1, but is 1.01"],
    [
      "limits: {max_age: 5 seconds}\n",
      'limits.max_age must be a duration such as 5s, 250ms or 1m30s, but is "5 seconds"; did you mean 5s?',
    ],
    [
      "limits: {max_age: 5}\n",
      'limits.max_age must be a duration such as 5s, 250ms or 1m30s, but is "5"; did you mean 5s or 5ms?',
    ],
    ["limits: {max_age: 25d}\n", 'limits.max_age must be a duration from 1ms to 24d, but is "25d"'],
    ["limits: {max_age: [5s]}\n", "limits.max_age must be a duration such as 5s, 250ms or 1m30s, but is a list"],
    ["note: 12\n", "note must be a text, but is 12; put it in quotes if that is what you mean"],
    ["note: true\n", "note must be a text, but is true; put it in quotes if that is what you mean"],
    ["note: ''\n", "note is empty: give it a value or leave the key out"],
    ['note: "a\\nb"\n', "note must not hold line breaks or control characters"],
    ["models: {m: {path: x, hidden: yes}}\n", 'models.m.hidden must be true or false, but is "yes"'],
    ["just words\n", 'the file must be a map of keys, but is "just words"'],
    ["- a\n", "the file must be a map of keys, but is a list"],
    ["note: a\n---\nnote: b\n", "the file holds several documents"],
  ])("%j", (content, want) => {
    expect(problems(content)).toContain(want);
  });
});

describe("what is no YAML", () => {
  test.each([
    ["note: a: b\n", "x.yaml:1: a key stands inside a value; put a value with"],
    ["note: @x\n", "put the value in quotes"],
    ["note: 'x\n", "missing closing 'quote"],
    ["note: !foo x\n", "leave the tag out"],
    ["list: [{a: ${A}}]\n", "put quotes around a value with ${…} in it"],
    ["%YAML 1.1\n---\nnote: x\n", "remove the %YAML line"],
    ["[".repeat(100_000), "x.yaml:1: "],
  ])("%j", (content, want) => {
    expect(problems(content)).toContain(want);
  });

  test("the rest of the file is still checked, but nothing is called missing", () => {
    expect(problems("note: a: b\nlimits:\n  rpm: -1\nmodels:\n  m:\n    path: c: d\n").split("\n")).toEqual([
      expect.stringContaining("x.yaml:1: a key stands inside a value"),
      expect.stringContaining("x.yaml:3: limits.rpm"),
      expect.stringContaining("x.yaml:6: a key stands inside a value"),
    ]);
  });
});

describe("variables and secrets", () => {
  test("a variable is a text where a text belongs, and a number or truth value where one does", () => {
    const content =
      "note: ${N}\nlimits: {rpm: '${N}', share: \"${S:-0.5}\"}\nmodels: {m: {path: 'a${N}', hidden: '${T}'}}\n";
    expect(value(content, { env: { N: "7", T: "true" } })).toEqual({
      ...defaults,
      note: "7",
      limits: { rpm: 7, share: 0.5 },
      models: { m: { path: "a7", hidden: true } },
    });
  });

  test.each([
    [
      "an unset one",
      "limits:\n  rpm: ${GONE}\n",
      "x.yaml:2: limits.rpm needs the environment variable GONE, which is not set",
    ],
    ["two unset ones", "note: ${A}${B}\n", "variable B, which is not set"],
    [
      "a value that does not fit",
      "limits: {rpm: '${N}'}\n",
      'limits.rpm must be a whole number from 0 to 1000000, but is "seven"',
    ],
    ["an empty value", "note: ${E}\n", "note is empty"],
  ])("%s", (_, content, want) => {
    expect(problems(content, { env: { N: "seven", E: "" } })).toContain(want);
  });

  test("in comments they are nobody's business", () => {
    expect(value("# ${GONE}\nnote: x # ${GONE}\n")).toEqual({ ...defaults, note: "x" });
  });

  test("a secret is read from its file, without the line break at its end", () => {
    expect(value("password: file:/run/secret\n")).toEqual({ ...defaults, password: "from-file" });
    expect(value("password: written\n")).toEqual({ ...defaults, password: "written" });
    expect(value("note: file:/run/secret\n")).toEqual({ ...defaults, note: "file:/run/secret" });
  });

  test.each([
    ["a file that cannot be read", "password: file:/gone\n", "password cannot be read from /gone: no such file"],
    ["an empty file", "password: file:/empty\n", "password is empty: /empty holds nothing"],
    ["a relative path", "password: file:x\n", 'password must name a file by its absolute path, but is "file:x"'],
  ])("%s", (_, content, want) => {
    const readSecret: ConfigSource["readSecret"] = (path) =>
      path === "/empty" ? ok("\n") : { ok: false, error: "no such file" };
    expect(problems(content, { readSecret })).toBe(`x.yaml:1: ${want}`);
  });

  test("a secret is in no message", () => {
    expect(problems('password: "hush\\u0007hush"\n')).not.toContain("hush");
  });
});

test("every problem of a file at once, in the order of the file", () => {
  const content = "noet: 1\nlimits:\n  rpm: -1\n  max_age: 5 seconds\nlist:\n  - b: 1\nlimits: {}\n";
  expect(
    problems(content)
      .split("\n")
      .map((line) => line.split(":")[1]),
  ).toEqual(["1", "3", "4", "6", "7"]);
});
