import { join } from "node:path";
import { LlmgwError } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import { pause, systemClock } from "../platform/clock.ts";
import { isMissing } from "../platform/file-rights.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";
import { acquireLock } from "../platform/lock.ts";
import { type IssuedEntry, readIndex, writeIndex } from "./issued.ts";
import { type Authority, type Issued, openAuthority } from "./make.ts";
import { readAuthorities, readKey } from "./pem.ts";
import { readPart } from "./read-part.ts";

/** Private keys are for their owner alone; certificates and lists are for everybody. */
const KEY_MODE = 0o600;

/** The files of an authority. */
export const filesOf = (dir: string) => ({
  certificate: join(dir, "ca.pem"),
  key: join(dir, "ca-key.pem"),
  revoked: join(dir, "crl.pem"),
  index: join(dir, "issued.json"),
  lock: join(dir, ".cert.lock"),
});

/** A certificate and its key lie side by side. */
export const pairFiles = (dir: string, name: string) => ({
  certificate: join(dir, `${name}.pem`),
  key: join(dir, `${name}-key.pem`),
});

/** Refuses, naming every one of them, when files are there that would be lost. */
export async function refuseOverwriting(paths: readonly string[]): Promise<void> {
  const missing = await Promise.all(paths.map(isMissing));
  const there = paths.filter((_, index) => missing[index] !== true);
  if (there.length === 0) return;
  const [verb, them] = there.length === 1 ? ["is", "it"] : ["are", "them"];
  throw new LlmgwError("CONFLICT", `${there.join(" and ")} ${verb} there already; --force writes over ${them}.`);
}

/** The key first: a certificate without its key is of no use to anybody, and says that one is there. */
export async function writePair(files: ReturnType<typeof pairFiles>, issued: Issued): Promise<void> {
  await writeFileAtomic(files.key, issued.key, KEY_MODE);
  await writeFileAtomic(files.certificate, issued.certificate);
}

/** The authority of the folder, or every reason why it cannot be used. */
export async function loadAuthority(dir: string): Promise<Authority> {
  const files = filesOf(dir);
  if ((await isMissing(files.certificate)) && (await isMissing(files.key))) {
    throw new LlmgwError(
      "NOT_FOUND",
      `There is no authority in ${dir}: \`llmgw ctl cert init --dir ${dir}\` makes one.`,
    );
  }
  const certificate = await readPart(files.certificate, readAuthorities);
  const key = await readPart(files.key, readKey);
  if (!certificate.ok || !key.ok) throw unusable([certificate, key].flatMap((read) => (read.ok ? [] : [read.error])));
  // After a change of authority the file may hold the old one as well: the one that signs is the one of the key.
  const own = certificate.value.value.find((authority) => authority.checkPrivateKey(key.value.value));
  if (own === undefined) throw unusable([`${files.key} does not belong to the authority in ${files.certificate}`]);
  const opened = openAuthority({ certificate: own.toString(), key: key.value.text });
  if (!opened.ok) throw unusable([`${files.key} ${opened.error}`]);
  return opened.value;
}

const unusable = (problems: readonly string[]): LlmgwError =>
  new LlmgwError("BAD_CONFIG", `the authority cannot be used:\n${problems.join("\n")}`);

export async function readIssued(dir: string): Promise<readonly IssuedEntry[]> {
  const { index } = filesOf(dir);
  const text = await readTextIfThere(index);
  if (text === undefined) return [];
  const read = readIndex(text);
  if (read.ok) return read.value;
  throw new LlmgwError("FAILED", `${index} ${read.error}. It lists what was issued; restore it, or move it away.`);
}

export const writeIssued = (dir: string, entries: readonly IssuedEntry[]): Promise<void> =>
  writeFileAtomic(filesOf(dir).index, writeIndex(entries));

const LOCK_PATIENCE = millis(10_000);
const LOCK_LOOK = millis(50);

/** One command at a time changes a folder: an index that two rewrite at once would lose an entry. */
export async function holdingFolder<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const deadline: Millis = millis(systemClock.monotonic() + LOCK_PATIENCE);
  for (;;) {
    const lock = await acquireLock(filesOf(dir).lock);
    if (lock.ok) {
      try {
        return await work();
      } finally {
        await lock.value.release();
      }
    }
    if (systemClock.monotonic() >= deadline) {
      throw new LlmgwError("CONFLICT", `process ${String(lock.error.pid)} is working on ${dir}; try again.`);
    }
    await pause(systemClock, LOCK_LOOK);
  }
}
