import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import type { Clock } from "../clock.ts";
import { claimPart, type Claimed } from "./claim.ts";
import { headerLine, type JournalHeader, rangeLine, syncLine } from "./journal.ts";
import { bootTag, freeTag, type Owner, ownedTag, parseTag, thisProcess } from "./owner.ts";
import { journalPath } from "./part-names.ts";

let folder: string;
let target: string;
const claims: Claimed[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-claim-"));
  target = join(folder, "m.gguf");
});
afterEach(async () => {
  for (const { part } of claims.splice(0)) await part.discard();
  await rm(folder, { recursive: true });
});

const url = new URL("https://files.example/m.gguf?signature=new");
const never = new AbortController().signal;

/** Waiting takes no time; what happens meanwhile is the test's to say. */
const clockThat = (meanwhile: () => Promise<unknown>): Clock => ({
  now: () => millis(0),
  monotonic: () => millis(0),
  after(delay, callback) {
    // The beat of a claimed part must not spin; only the wait for a sign of life is longer.
    if (delay > 5000) void meanwhile().then(callback);
    return () => undefined;
  },
});
const quiet = clockThat(() => Promise.resolve());

interface Left {
  readonly tag: string;
  readonly header?: Partial<JournalHeader>;
  readonly lines?: string;
  readonly data?: string;
}

async function leave({ tag, header = {}, lines = rangeLine(0, 6), data = "abcdef" }: Left): Promise<string> {
  const part = `.m.gguf.${tag.slice(-8)}.part`;
  const journal = journalPath(target, tag);
  const whole = {
    part,
    url: "https://files.example/m.gguf",
    sha256: undefined,
    size: 12,
    validator: '"v1"',
    boot: await bootTag(),
    ...header,
  };
  await writeFile(join(folder, part), data);
  await writeFile(journal, headerLine(whole) + lines);
  return journal;
}

async function claim(wanted: { readonly sha256?: string } = {}, clock = quiet): Promise<Claimed | undefined> {
  const claimed = await claimPart({ target, url, sha256: wanted.sha256 }, clock, never);
  if (claimed !== undefined) claims.push(claimed);
  return claimed;
}

async function deadProcess(): Promise<Owner> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  return { ...(await thisProcess()), pid: child.pid ?? 0 };
}

describe("a part file that was left behind", () => {
  test("by a process that is dead is taken over", async () => {
    await leave({ tag: ownedTag(await deadProcess()) });
    expect((await claim())?.part.written()).toEqual([{ start: 0, end: 6 }]);
  });

  test("by a process whose pid now belongs to another is taken over", async () => {
    await leave({ tag: ownedTag({ ...(await thisProcess()), startTicks: 1 }) });
    expect(await claim()).toBeDefined();
  });

  test("by this process, which let go of it, is taken over", async () => {
    await leave({ tag: freeTag() });
    expect(await claim()).toMatchObject({ size: 12, validator: '"v1"' });
  });

  test("belongs to a living process as long as it lives", async () => {
    const journal = await leave({ tag: ownedTag(await thisProcess()) });
    expect(await claim()).toBeUndefined();
    expect(await readdir(folder)).toContain(journal.split("/").at(-1));
  });

  const elsewhere: Owner = { boot: "abc", namespace: "1", pid: 1, startTicks: 1 };

  test("by another machine is taken over when it shows no life, and only what had reached the disk is believed", async () => {
    await leave({
      tag: ownedTag(elsewhere),
      header: { boot: "abc" },
      lines: rangeLine(0, 3) + syncLine(1) + rangeLine(3, 6),
    });
    expect((await claim())?.part.written()).toEqual([{ start: 0, end: 3 }]);
  });

  test("by another machine is left alone when it shows life", async () => {
    const journal = await leave({ tag: ownedTag(elsewhere) });
    const beating = clockThat(() => utimes(journal, new Date(), new Date(Date.now() + 5000)));
    expect(await claim({}, beating)).toBeUndefined();
    expect(await readdir(folder)).toHaveLength(2);
  });

  test.each([
    { name: "of another address", left: { header: { url: "https://files.example/other" } } },
    { name: "of a file that nothing can be compared with", left: { header: { validator: undefined } } },
    { name: "with another hash", left: { header: { sha256: "b".repeat(64) } }, wanted: { sha256: "a".repeat(64) } },
    { name: "shorter than its journal says", left: { data: "abc" } },
    { name: "with nothing in it", left: { lines: "" } },
    { name: "whose journal is damaged", left: { header: { part: "../x" } } },
  ])("$name is removed", async ({ left, wanted }) => {
    await leave({ tag: freeTag(), ...left });
    expect(await claim(wanted)).toBeUndefined();
    expect((await readdir(folder)).filter((name) => name.endsWith(".journal"))).toEqual([]);
  });

  test("with the same hash is used whatever the address and the validator are", async () => {
    const sha256 = "a".repeat(64);
    await leave({ tag: freeTag(), header: { sha256, url: "https://mirror.example/x", validator: undefined } });
    expect(await claim({ sha256 })).toBeDefined();
  });

  test("of several the fullest is used and the others are removed", async () => {
    await leave({ tag: freeTag(), lines: rangeLine(0, 2) });
    await leave({ tag: freeTag(), lines: rangeLine(0, 5) });
    expect((await claim())?.part.written()).toEqual([{ start: 0, end: 5 }]);
    expect(await readdir(folder)).toHaveLength(2);
  });

  test("is taken by one of several who want it at once", async () => {
    await leave({ tag: freeTag() });
    const all = await Promise.all([claim(), claim(), claim(), claim()]);
    expect(all.filter((one) => one !== undefined)).toHaveLength(1);
  });

  test("of a file with a similar name is nobody's business", async () => {
    await leave({ tag: freeTag() });
    const other = await claimPart({ target: join(folder, "m"), url, sha256: undefined }, quiet, never);
    expect(other).toBeUndefined();
    expect(await readdir(folder)).toHaveLength(2);
  });
});

test("an owner is read back from a file name, and nothing else is", async () => {
  const owner = await thisProcess();
  expect(parseTag(ownedTag(owner))).toEqual(owner);
  expect(parseTag(freeTag())).toBe("free");
  for (const tag of ["", "x", "free", "gguf.free.12345678", "a.b.c.d.e"]) expect(parseTag(tag)).toBeUndefined();
});
