import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { messageOf } from "../core/errors.ts";
import { type Bytes, bytes } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isErrno, syncFolder } from "./files.ts";
import {
  END64_SIZE,
  LOCAL_SIZE,
  localHeaderLength,
  readZipDirectory,
  readZipEnd,
  readZipEnd64,
  TAIL_SIZE,
  type ZipMember,
} from "./zip-directory.ts";

export interface ZipFailure {
  readonly kind: "bad-archive" | "no-such-member" | "no-space" | "refused";
  readonly message: string;
}

export interface Extracted {
  readonly bytes: Bytes;
  /** Hex. */
  readonly sha256: string;
}

/**
 * Takes one file out of a zip archive, whatever its size, to `target`: written beside it, checked against the archive's own
 * checksum, synced, then renamed. Nothing else of the archive touches the disk.
 */
export async function extractZipMember(
  archive: string,
  name: string,
  target: string,
): Promise<Result<Extracted, ZipFailure>> {
  try {
    const file = await open(archive, "r");
    try {
      const members = await listMembers(file);
      const member = members?.find((one) => one.name === name);
      if (members === undefined) return err(bad(archive, "its directory is damaged"));
      if (member === undefined) return err({ kind: "no-such-member", message: absent(archive, name, members) });
      return await extract(file, archive, { member, target });
    } finally {
      await file.close();
    }
  } catch (error) {
    return err(failureOf(error, archive));
  }
}

async function listMembers(file: FileHandle): Promise<readonly ZipMember[] | undefined> {
  const { size } = await file.stat();
  const tail = await readAt(file, Math.max(0, size - TAIL_SIZE), Math.min(size, TAIL_SIZE));
  const found = readZipEnd(tail);
  const end =
    found !== undefined && "end64Offset" in found
      ? readZipEnd64(await readAt(file, found.end64Offset, END64_SIZE))
      : found;
  // A directory larger than the archive is a lie that would be believed by allocating it.
  if (end === undefined || end.directoryOffset + end.directorySize > size) return undefined;
  return readZipDirectory(await readAt(file, end.directoryOffset, end.directorySize), end.entries);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

async function extract(
  file: FileHandle,
  archive: string,
  { member, target }: { readonly member: ZipMember; readonly target: string },
): Promise<Result<Extracted, ZipFailure>> {
  const header = localHeaderLength(await readAt(file, member.offset, LOCAL_SIZE));
  if (header === undefined) return err(bad(archive, `${member.name} is not where the directory says`));
  if (member.isEncrypted || (member.method !== 0 && member.method !== 8)) {
    return err(bad(archive, `${member.name} is packed in a way that cannot be read`));
  }
  await mkdir(dirname(target), { recursive: true });
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.unpacking`);
  try {
    const seen = await unpack(archive, { member, start: member.offset + header, temporary });
    if (seen.size !== member.size || seen.crc !== member.crc) {
      return err(bad(archive, `${member.name} does not have the bytes that the archive announces`));
    }
    await rename(temporary, target);
    await syncFolder(dirname(target));
    return ok({ bytes: bytes(seen.size), sha256: seen.sha256 });
  } finally {
    await rm(temporary, { force: true });
  }
}

interface Seen {
  readonly size: number;
  readonly crc: number;
  readonly sha256: string;
}

async function unpack(
  archive: string,
  { member, start, temporary }: { readonly member: ZipMember; readonly start: number; readonly temporary: string },
): Promise<Seen> {
  const hash = createHash("sha256");
  let size = 0;
  let crc = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      // More than was announced can be without end.
      if (size > member.size) {
        done(new Error(`${member.name} is larger than the archive announces`));
        return;
      }
      crc = crc32(chunk, crc);
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const sink = createWriteStream(temporary, { flush: true });
  await pipeline([packedBytes(archive, member, start), ...unpackers(member), check, sink]);
  return { size, crc, sha256: hash.digest("hex") };
}

const packedBytes = (archive: string, member: ZipMember, start: number): Readable =>
  member.packed === 0
    ? Readable.from([])
    : createReadStream(archive, { start, end: start + member.packed - 1, highWaterMark: 1024 * 1024 });

const unpackers = (member: ZipMember): readonly Transform[] =>
  member.method === 8 && member.packed > 0 ? [createInflateRaw()] : [];

const bad = (archive: string, why: string): ZipFailure => ({
  kind: "bad-archive",
  message: `${basename(archive)} cannot be used: ${why}`,
});

const NAMES_SHOWN = 6;

function absent(archive: string, name: string, members: readonly ZipMember[]): string {
  const largest = members.toSorted((a, b) => b.size - a.size).slice(0, NAMES_SHOWN);
  return `${basename(archive)} holds no ${name}; its largest files are ${largest.map((member) => member.name).join(", ")}`;
}

function failureOf(error: unknown, archive: string): ZipFailure {
  if (isErrno(error, "ENOSPC", "EDQUOT")) {
    return { kind: "no-space", message: `the disk became full while ${basename(archive)} was unpacked` };
  }
  if (isErrno(error, "EACCES", "EPERM", "EROFS", "ENOENT")) return { kind: "refused", message: messageOf(error) };
  return bad(archive, messageOf(error));
}
