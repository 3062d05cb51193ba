import { join } from "node:path";
import type { Millis } from "../../core/ids.ts";
import type { UsageRecord } from "../../core/usage.ts";
import { readAppended } from "../../platform/append-file.ts";
import { inAscii, recordOfLine } from "../../wire/usage-line.ts";

/** A record on its way, and what its key's budget must know of it. */
export interface Entry {
  readonly number: number;
  readonly opened: number;
  readonly keyId: string;
  readonly spent: number;
  readonly endedAt: Millis;
  /** In ASCII. */
  readonly line: string;
}

const facts = ({ number, opened, keyId, tokens, endedAt }: UsageRecord): Omit<Entry, "line"> => ({
  number,
  opened,
  keyId,
  spent: tokens.prompt + tokens.completion,
  endedAt,
});

/** A part of a journal is named by the process that writes it and the first record in it, so that names sort as records do. */
export const segmentPath = (folder: string, instance: string, first: number): string =>
  join(folder, `${instance}.${String(first).padStart(16, "0")}.jsonl`);

export interface Segment {
  readonly entries: readonly Entry[];
  /** Lines that are no records: the last one was cut off by a kill, or somebody else has written here. */
  readonly bad: number;
}

/** A part of a journal that nobody writes to any more. A file that is not there holds nothing. */
export async function readSegment(path: string): Promise<Segment> {
  const { lines, torn } = (await readAppended(path)) ?? { lines: [], torn: false };
  const entries = lines.flatMap((line): readonly Entry[] => {
    const record = recordOfLine(line);
    return record === undefined ? [] : [{ ...facts(record), line: inAscii(line) }];
  });
  return { entries, bad: lines.length - entries.length + (torn ? 1 : 0) };
}
