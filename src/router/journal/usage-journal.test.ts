import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { usageRecord } from "../../../test/fakes/values.ts";
import { until } from "../../../test/e2e/wait.ts";
import { millis } from "../../core/ids.ts";
import { systemClock } from "../../platform/clock.ts";
import { RouterSessionResponseSchema } from "../../wire/gen/llmgw/v1/router_pb.js";
import { recordOfLine } from "../../wire/usage-line.ts";
import type { Spent } from "./chunk.ts";
import { UsageJournal } from "./usage-journal.ts";

let folder = "";
let logs: Readonly<Record<string, unknown>>[] = [];
const open: UsageJournal[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-journal-"));
  logs = [];
});
afterEach(async () => {
  for (const journal of open.splice(0)) await journal.close();
  await rm(folder, { recursive: true });
});

const logger = pino({ base: null }, { write: (line: string) => logs.push(JSON.parse(line) as (typeof logs)[number]) });

async function journal(instance: string, more: { folder?: string | undefined; counted?: Spent[] } = {}) {
  const opened = await UsageJournal.open({
    folder,
    instance,
    clock: systemClock,
    logger,
    onCounted: (spent) => more.counted?.push(...spent),
    ...more,
  });
  open.push(opened);
  return opened;
}

/** As a process that is killed leaves it: it lets go of nothing, and its process is gone. */
async function killed(instance: string, lines: string): Promise<void> {
  await writeFile(join(folder, `${instance}.lock`), JSON.stringify({ pid: 999_999_999, startTicks: 1, bootId: "b" }));
  await writeFile(join(folder, `${instance}.0000000000000001.jsonl`), lines);
}

const plain = usageRecord({
  opened: 1,
  number: 1,
  tokens: { prompt: 2, cached: 0, completion: 1, estimated: false },
});
const line = (number: number): string => `${JSON.stringify({ ...plain, number, opened: number })}\n`;

/** What is said next, once there is something. */
const said = (of: UsageJournal) =>
  until("something to send", () => {
    const next = of.next();
    if (next?.case !== "usage") return undefined;
    const { instance = "", lines = "" } = next.value;
    return { instance, numbers: lines.split("\n").map((one) => recordOfLine(one)?.number) };
  });

const ack = (of: UsageJournal, instance: string, through: number): void => {
  const body = { case: "usageAck" as const, value: { instance, through: BigInt(through) } };
  of.heard(create(RouterSessionResponseSchema, { body }).body);
};

const files = async (): Promise<readonly string[]> => (await readdir(folder)).toSorted();

describe("the journal", () => {
  test("writes, sends, and lets go of what is counted", async () => {
    const counted: Spent[] = [];
    const it = await journal("a", { counted });
    it.add(plain);
    it.add(plain);
    it.opened(() => undefined);
    expect(it.next()).toBeUndefined();
    await it.flush();
    expect(await said(it)).toEqual({ instance: "a", numbers: [1, 2] });
    expect(it.next()).toBeUndefined();
    ack(it, "a", 2);
    expect(counted.map(({ keyId, tokens }) => [keyId, tokens])).toEqual([["k1", 6]]);
    await it.drain(millis(5_000));
    await it.close();
    expect(await files()).toEqual([]);
  });

  test("sends again on a new stream what was not acknowledged, with the same numbers", async () => {
    const it = await journal("a");
    it.add(plain);
    await it.flush();
    it.opened(() => undefined);
    expect((await said(it)).numbers).toEqual([1]);
    it.closed();
    it.add(plain);
    await it.flush();
    it.opened(() => undefined);
    expect((await said(it)).numbers).toEqual([1, 2]);
    ack(it, "another", 2);
    expect(it.next()).toBeUndefined();
    ack(it, "a", 1);
    expect((await said(it)).numbers).toEqual([2]);
  });

  test("an end in order leaves what is not counted to the next process, and nothing is called lost", async () => {
    const first = await journal("a");
    first.add(plain);
    await first.close();
    const second = await journal("b");
    expect(second.ended).toEqual(["a"]);
    second.opened(() => undefined);
    expect(await said(second)).toEqual({ instance: "a", numbers: [1] });
    ack(second, "a", 1);
    await until("only the second's lock", async () => (await files()).join() === "b.lock");
    expect(logs.filter(({ level }) => level === 40)).toEqual([]);
  });

  test("what is not ASCII comes through, written by this program or by one that wrote it as it is", async () => {
    const text = 'ключ "ü" 🔑';
    await killed("a", `${JSON.stringify({ ...plain, keyName: text })}\n`);
    const it = await journal("b");
    it.add({ ...plain, keyName: text });
    await it.flush();
    it.opened(() => undefined);
    for (const instance of ["a", "b"]) {
      const sent = await until("something to send", () => it.next());
      expect(sent.case === "usage" && recordOfLine(sent.value.lines ?? "")?.keyName).toBe(text);
      ack(it, instance, 1);
    }
  });

  test("after a kill the next process says so, drops the torn line, and counts the rest first", async () => {
    await killed("a", line(1) + line(2) + line(3).slice(0, 40));
    const it = await journal("b");
    expect(it.ended).toEqual(["a"]);
    expect(logs.filter(({ level }) => level === 40)).toMatchObject([
      { instance: "a", lines: 1, msg: expect.stringContaining("cut off") as string },
      { instance: "a", records: 2, msg: expect.stringContaining("ended without warning") as string },
    ]);
    it.add(plain);
    await it.flush();
    it.opened(() => undefined);
    expect(await said(it)).toEqual({ instance: "a", numbers: [1, 2] });
    ack(it, "a", 2);
    expect(await said(it)).toEqual({ instance: "b", numbers: [1] });
    await until("only the second's files", async () => (await files()).join() === "b.0000000000000001.jsonl,b.lock");
  });

  test("what was running at a kill counts with what it had, once, after what had ended", async () => {
    const running = (opened: number) =>
      JSON.stringify({ ...plain, number: 2 ** 40 + opened, opened, outcome: "router_ended" });
    await killed("a", line(1) + line(2));
    await writeFile(join(folder, "a.running"), `${running(2)}\n${running(3)}\n${running(4)}\n`);
    const it = await journal("b");
    expect(logs.find(({ level }) => level === 40)).toMatchObject({ instance: "a", records: 2, running: 2 });
    it.opened(() => undefined);
    expect((await said(it)).numbers).toEqual([1, 2]);
    // Killed again before anything was counted: the next one finds the same.
    await it.close();
    const third = await journal("c");
    third.opened(() => undefined);
    expect((await said(third)).numbers).toEqual([1, 2]);
    ack(third, "a", 2);
    expect((await said(third)).numbers).toEqual([2 ** 40 + 3, 2 ** 40 + 4]);
    ack(third, "a", 2 ** 40 + 4);
    await until("only the lock", async () => (await files()).join() === "c.lock");
  });

  test("what takes long is on disk while it runs, and not after that", async () => {
    const it = await journal("a");
    let long = [{ ...plain, opened: 7, duration: millis(1_500) }];
    it.watch(() => [...long, { ...plain, opened: 8, duration: millis(10) }]);
    const text = await until("what runs", () => readFile(join(folder, "a.running"), "utf8").catch(() => undefined));
    expect(
      text
        .trim()
        .split("\n")
        .map((one) => recordOfLine(one)?.opened),
    ).toEqual([7]);
    long = [];
    await until("nothing that runs", async () => (await files()).join() === "a.lock");
  });

  test("killed with nothing on disk, it is said all the same", async () => {
    await writeFile(join(folder, "a.lock"), JSON.stringify({ pid: 999_999_999, startTicks: 1, bootId: "b" }));
    const it = await journal("b");
    expect(it.ended).toEqual(["a"]);
    expect(logs).toMatchObject([{ records: 0, msg: expect.stringContaining("ended without warning") as string }]);
    expect(await files()).toEqual(["b.lock"]);
  });

  test("the files of a process that lives are left alone, and so is what is no journal", async () => {
    const living = await journal("a");
    living.add(plain);
    await living.flush();
    await appendFile(join(folder, "notes.txt"), "x");
    const second = await journal("b");
    expect(second.ended).toEqual([]);
    second.opened(() => undefined);
    expect(second.next()).toBeUndefined();
    expect(await files()).toEqual(["a.0000000000000001.jsonl", "a.lock", "b.lock", "notes.txt"]);
  });

  test("while nobody takes them, records are on disk and not all in memory; then they come in order", async () => {
    const counted: Spent[] = [];
    const it = await journal("a", { counted });
    for (let n = 0; n < 10_000; n++) {
      it.add(plain);
      if (n % 1_000 === 0) await it.flush();
    }
    await it.flush();
    it.opened(() => undefined);
    let next = 1;
    while (next <= 10_000) {
      const { numbers } = await said(it);
      expect(numbers[0]).toBe(next);
      next = (numbers.at(-1) ?? 0) + 1;
      ack(it, "a", next - 1);
    }
    expect(counted.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(30_000);
    await it.drain(millis(5_000));
    await it.close();
    expect(await files()).toEqual([]);
  });

  test("without a folder it works from memory", async () => {
    const it = await journal("a", { folder: undefined });
    it.add(plain);
    it.opened(() => undefined);
    await it.flush();
    expect((await said(it)).numbers).toEqual([1]);
    expect(await files()).toEqual([]);
  });

  test("a disk that takes nothing loses nothing as long as the process lives", async () => {
    const it = await journal("a");
    await rm(folder, { recursive: true });
    it.add(plain);
    await it.flush();
    expect(logs).toMatchObject([{ level: 50, msg: "usage cannot be written to disk" }]);
    it.opened(() => undefined);
    expect((await said(it)).numbers).toEqual([1]);
    await writeFile(folder, "").then(() => rm(folder));
    folder = await mkdtemp(join(tmpdir(), "llmgw-journal-"));
  });
});
