import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PROGRAMS } from "../parsers/programs.ts";

/** What `npm run test:parsers -- --write` keeps of the real programs: every option that their parsers know. */
const FIXTURES = join(import.meta.dirname, "../fixtures/engine-options");

test.each(PROGRAMS)("$parser $version knows every option that it is given", async ({ parser, version, show }) => {
  const known = (await readFile(join(FIXTURES, `${parser}-${version}.txt`), "utf8")).split("\n");
  const folder = await mkdtemp(join(tmpdir(), "llmgw-options-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const shown = await show(folder);
  // The options of other verbs than Ray's start are not kept.
  const lines = shown.filter(({ argv }) => parser !== "ray" || argv[0] === "start");
  expect(lines.length).toBeGreaterThan(2);
  for (const { name, argv } of lines) {
    const options = argv.flatMap((arg) => (/^--?[a-z]/.test(arg) ? arg.replace(/=.*$/s, "") : []));
    expect(
      options.filter((option) => !known.includes(option)),
      name,
    ).toEqual([]);
  }
});
