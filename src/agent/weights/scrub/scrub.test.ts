import { mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { millis } from "../../../core/ids.ts";
import type { SharedFile } from "../../../core/sharing.ts";
import { systemClock } from "../../../platform/clock.ts";
import { silentLogger } from "../../../platform/logger.ts";
import { MIB, seeded, sha256Of } from "../../../../test/fakes/download-fixture.ts";
import { createRecordBook, type RecordBook } from "../folder.ts";
import { piecePath } from "../peers/piece-file.ts";
import { withHeld, withModel } from "../record.ts";
import { checkFile } from "./check-file.ts";
import { Scrub, type ScrubOptions } from "./scrub.ts";

const DATA = seeded(9 * MIB);
const FILE: SharedFile = { key: "f/m.gguf", bytes: DATA.length, sha256: sha256Of(DATA) };
const FAST = 2 ** 40;

let dir: string;
let records: RecordBook;
let stop: AbortController;
let running: Promise<void>[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-scrub-"));
  stop = new AbortController();
  running = [];
  records = createRecordBook();
  await records.change(join(dir, "f"), (record) =>
    withModel(withHeld(record, { name: "m.gguf", bytes: FILE.bytes, sha256: FILE.sha256 }), {
      ...{ source: "hf:acme/m", main: "m.gguf", files: ["m.gguf"] },
    }),
  );
  await writeFile(join(dir, FILE.key), DATA);
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await rm(dir, { recursive: true });
});

async function flip(at: number): Promise<void> {
  await using file = await open(join(dir, FILE.key), "r+");
  await file.write(Buffer.of((DATA[at] ?? 0) ^ 1), 0, 1, at);
}

/** What the record says is held, as far as there is a file. */
const held = async (): Promise<readonly SharedFile[]> =>
  ((await records.read(join(dir, "f")))?.held ?? []).map(({ name, ...rest }) => ({ key: `f/${name}`, ...rest }));

interface Heard {
  readonly scrub: Scrub;
  readonly wrong: string[];
  readonly refetched: string[];
}

function start(options: Partial<ScrubOptions> = {}): Heard {
  const [wrong, refetched]: [string[], string[]] = [[], []];
  const scrub = new Scrub({
    ...{ dir, records, held, clock: systemClock, logger: silentLogger, bytesPerSecond: FAST },
    stateFile: join(dir, "scrub.json"),
    onWrong: (key) => wrong.push(key),
    onChange: () => undefined,
    refetch: ({ source }) => {
      refetched.push(source);
      return Promise.resolve(true);
    },
    ...options,
  });
  running.push(scrub.run(stop.signal));
  return { scrub, wrong, refetched };
}

describe("a held file", () => {
  const checking = (onPiece: (count: number) => void = () => undefined) => ({
    ...{ dir, clock: systemClock, bytesPerSecond: FAST, signal: stop.signal, onPiece },
  });

  test("that is as it was fetched gets the hashes of its pieces, and is gone on with from any of them", async () => {
    expect(await checkFile({ file: FILE, piece: 0 }, checking())).toBe("right");
    expect(await readFile(piecePath(join(dir, FILE.key)), "utf8")).toContain(FILE.sha256);
    const pieces: number[] = [];
    expect(
      await checkFile(
        { file: FILE, piece: 1 },
        checking((count) => pieces.push(count)),
      ),
    ).toBe("right");
    expect(pieces).toEqual([2, 3]);
  });

  test("with one wrong bit is wrong, with hashes of its pieces and without", async () => {
    await flip(5 * MIB);
    expect(await checkFile({ file: FILE, piece: 0 }, checking())).toBe("wrong");
    await writeFile(join(dir, FILE.key), DATA);
    await checkFile({ file: FILE, piece: 0 }, checking());
    await flip(5 * MIB);
    expect(await checkFile({ file: FILE, piece: 0 }, checking())).toBe("wrong");
    expect(await checkFile({ file: FILE, piece: 2 }, checking())).toBe("right");
  });

  test("that became shorter or went is no longer held, which is another matter", async () => {
    await writeFile(join(dir, FILE.key), "short");
    expect(await checkFile({ file: FILE, piece: 0 }, checking())).toBe("gone");
    await rm(join(dir, FILE.key));
    expect(await checkFile({ file: FILE, piece: 0 }, checking())).toBe("gone");
  });

  test("is read no faster than allowed", async () => {
    const slow = { ...checking(), bytesPerSecond: 2 * MIB, signal: AbortSignal.timeout(300) };
    expect(await checkFile({ file: FILE, piece: 0 }, slow)).toBe("stopped");
  });
});

describe("the scrub", () => {
  test("puts a wrong file aside where no start finds it, says so, and fetches its model again", async () => {
    await flip(MIB);
    await using reader = await open(join(dir, FILE.key), "r");
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<boolean>();
    const { scrub, wrong } = start({ refetch: () => mayEnd });
    scrub.suspect([FILE.key]);
    await expect.poll(() => wrong).toEqual([FILE.key]);
    expect(await held()).toEqual([]);
    expect(await readdir(join(dir, "f"))).toEqual([".llmgw.json", ".quarantine"]);
    expect(scrub.problems).toEqual([expect.stringContaining(FILE.key)]);
    // Whoever has it open, such as an engine, still reads it.
    expect((await reader.read(Buffer.alloc(4), 0, 4, 0)).bytesRead).toBe(4);
    end(true);
    await expect.poll(() => scrub.problems).toEqual([]);
    expect(await readdir(join(dir, "f", ".quarantine"))).toEqual([]);
  });

  test("leaves a file alone that was suspected without reason", async () => {
    const { scrub, wrong, refetched } = start();
    scrub.suspect([FILE.key, "f/never.gguf", "../elsewhere"]);
    await expect.poll(() => readFile(join(dir, "scrub.json"), "utf8").catch(() => "")).toContain(FILE.key);
    expect([wrong, refetched, scrub.problems]).toEqual([[], [], []]);
  });

  test("reads what is due, from where an earlier agent left it", async () => {
    await writeFile(
      join(dir, "scrub.json"),
      JSON.stringify({ version: 1, checked: { [FILE.key]: 1 }, current: undefined, wrong: [] }),
    );
    await flip(MIB);
    const { wrong } = start();
    await expect.poll(() => wrong).toEqual([FILE.key]);
  });

  test("has ended only when nothing of it writes any more", async () => {
    await writeFile(join(dir, "scrub.json"), JSON.stringify({ version: 1, checked: {}, wrong: [FILE.key] }));
    const asked = Promise.withResolvers<undefined>();
    const answer = Promise.withResolvers<boolean>();
    const order: string[] = [];
    start({
      every: millis(1e12),
      refetch: () => {
        asked.resolve(undefined);
        return answer.promise;
      },
      onChange: () => order.push("changed"),
    });
    const ended = running[0]?.then(() => order.push("ended"));
    await asked.promise;
    stop.abort();
    // Whoever does not wait for the answer has ended by then.
    await setTimeout(100);
    order.push("answered");
    answer.resolve(true);
    await ended;
    expect(order).toEqual(["answered", "ended"]);
  });

  test("goes on fetching what an earlier agent had put aside", async () => {
    await writeFile(join(dir, "scrub.json"), JSON.stringify({ version: 1, checked: {}, wrong: [FILE.key] }));
    const { scrub, refetched } = start({ every: millis(1e12) });
    await expect.poll(() => refetched).toEqual(["hf:acme/m"]);
    await expect.poll(() => scrub.problems).toEqual([]);
  });
});
