import { closeSync, constants, openSync, readSync } from "node:fs";
import { isErrno } from "./files.ts";

/** The kernel's log, read on from where the last reading ended. */
export interface KernelLog {
  /** What was written since the last time, the words of each record alone. */
  read(): readonly string[];
  close(): void;
}

/** A record is at most this long; each reading of the device gives one. */
const RECORD = 8192;
/** More than the greatest log holds: a machine that logs faster than it is read must not hold us. */
const MOST_RECORDS = 100_000;

/** Undefined where it is not there or not to be read, as for users without that right and in containers. */
export function openKernelLog(path = "/dev/kmsg"): KernelLog | undefined {
  let log: number;
  try {
    log = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  return {
    read: () => readRecords(log).flatMap(wordsOf),
    close: () => {
      closeSync(log);
    },
  };
}

/** Each call answers at once, from memory. */
function readRecords(log: number): readonly string[] {
  const buffer = Buffer.alloc(RECORD);
  const records: string[] = [];
  for (let count = 0; count < MOST_RECORDS; count++) {
    try {
      const length = readSync(log, buffer, 0, RECORD, null);
      if (length === 0) break;
      records.push(buffer.toString("utf8", 0, length));
    } catch (error) {
      // The log has gone round since: what was overwritten is lost, and the next record is read.
      if (!isErrno(error, "EPIPE")) break;
    }
  }
  return records;
}

/** "6,1234,98765,-;words", then lines that begin with a space, which name devices. */
function wordsOf(record: string): readonly string[] {
  return record.split("\n").flatMap((line) => {
    const words = /^[\d,\-c+]+[^;]*;(.*)$/.exec(line)?.[1];
    return words === undefined ? [] : [words];
  });
}
