import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { VERSION } from "../src/core/version.ts";
import { markdownTable } from "./markdown-table.ts";
import { pages, withLayers } from "./reference-pages.ts";

const root = join(import.meta.dirname, "..");
const committed = (path: string): string => readFileSync(join(root, path), "utf8");
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();

const STALE = "is not what the code says now: run `npm run generate`";

describe("the reference is what the code says", () => {
  test.each(Object.entries(pages()))("%s", (path, content) => {
    expect(committed(path), `${path} ${STALE}`).toBe(content);
  });

  test("there is no page that nobody makes", () => {
    const there = filesBelow(join(root, "docs/reference")).map((name) => `docs/reference/${name}`);
    expect(there).toEqual(Object.keys(pages()).toSorted());
  });

  test("the table of layers in ARCHITECTURE.md", () => {
    const architecture = committed("ARCHITECTURE.md");
    expect(architecture, `ARCHITECTURE.md ${STALE}`).toBe(withLayers(architecture));
  });

  test.each(["", "<!-- layers:end --> <!-- layers:begin -->", "<!-- layers:begin -->"])(
    "without its markers the table has no place: %j",
    (architecture) => {
      expect(() => withLayers(architecture)).toThrow("layers:begin");
    },
  );
});

test("the version in the code is that of the package", () => {
  expect(JSON.parse(committed("package.json"))).toMatchObject({ version: VERSION });
});

test("a table keeps its columns whatever is in a cell", () => {
  expect(markdownTable(["a", "b"], [["x|y", "two\n  lines"], ["z"]])).toBe(
    ["| a    | b         |", "| ---- | --------- |", "| x\\|y | two lines |", "| z    |           |"].join("\n"),
  );
});

describe("the messages are what proto/ says", () => {
  const temporary: string[] = [];
  afterEach(() => {
    for (const folder of temporary.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  test("src/wire/gen", () => {
    const folder = mkdtempSync(join(tmpdir(), "llmgw-gen-"));
    temporary.push(folder);
    const bin = join(root, "node_modules/.bin");
    // The plugin is a script for whatever `node` comes first: this one.
    const path = [bin, dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
    const { status, stderr } = spawnSync(join(bin, "buf"), ["generate", "--output", folder], {
      cwd: root,
      env: { ...process.env, PATH: path },
      encoding: "utf8",
    });
    expect(status, stderr).toBe(0);
    const made = join(folder, "src/wire/gen");
    const names = filesBelow(made);
    expect(filesBelow(join(root, "src/wire/gen"))).toEqual(names);
    for (const name of names) {
      expect(committed(`src/wire/gen/${name}`), `src/wire/gen/${name} ${STALE}`).toBe(
        readFileSync(join(made, name), "utf8"),
      );
    }
  });
});
