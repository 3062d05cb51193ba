/** One file in a zip archive, as the archive's directory describes it. */
export interface ZipMember {
  readonly name: string;
  /** 0 stored, 8 deflated; nothing else is in use for wheels. */
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  /** Where its local header begins. */
  readonly offset: number;
  readonly isEncrypted: boolean;
}

export interface ZipEnd {
  readonly directoryOffset: number;
  readonly directorySize: number;
  readonly entries: number;
}

const END = 0x06054b50;
const END_SIZE = 22;
const END64_LOCATOR = 0x07064b50;
const END64_LOCATOR_SIZE = 20;
const END64 = 0x06064b50;
export const END64_SIZE = 56;
const MEMBER = 0x02014b50;
const MEMBER_SIZE = 46;
const LOCAL = 0x04034b50;
export const LOCAL_SIZE = 30;
const EXTRA_64 = 0x0001;
const UNKNOWN_16 = 0xffff;
const UNKNOWN_32 = 0xffffffff;

/** The end record may be followed by a comment of up to 64 KiB. */
export const TAIL_SIZE = END_SIZE + END64_LOCATOR_SIZE + 0xffff;

/** Finds the end record in the last bytes of an archive: the directory's place, or where the 64-bit record is that has it. */
export function readZipEnd(tail: Buffer): ZipEnd | { readonly end64Offset: number } | undefined {
  for (let at = tail.length - END_SIZE; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) !== END || at + END_SIZE + tail.readUInt16LE(at + 20) !== tail.length) continue;
    const end = {
      entries: tail.readUInt16LE(at + 10),
      directorySize: tail.readUInt32LE(at + 12),
      directoryOffset: tail.readUInt32LE(at + 16),
    };
    const isBig = end.entries === UNKNOWN_16 || end.directorySize === UNKNOWN_32 || end.directoryOffset === UNKNOWN_32;
    const locator = at - END64_LOCATOR_SIZE;
    if (!isBig || locator < 0 || tail.readUInt32LE(locator) !== END64_LOCATOR) return end;
    return { end64Offset: Number(tail.readBigUInt64LE(locator + 8)) };
  }
  return undefined;
}

export function readZipEnd64(record: Buffer): ZipEnd | undefined {
  if (record.length < END64_SIZE || record.readUInt32LE(0) !== END64) return undefined;
  return {
    entries: Number(record.readBigUInt64LE(32)),
    directorySize: Number(record.readBigUInt64LE(40)),
    directoryOffset: Number(record.readBigUInt64LE(48)),
  };
}

/** Undefined when the directory is damaged. */
export function readZipDirectory(directory: Buffer, entries: number): readonly ZipMember[] | undefined {
  const members: ZipMember[] = [];
  let at = 0;
  for (let i = 0; i < entries; i += 1) {
    if (at + MEMBER_SIZE > directory.length || directory.readUInt32LE(at) !== MEMBER) return undefined;
    const nameEnd = at + MEMBER_SIZE + directory.readUInt16LE(at + 28);
    const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
    const next = extraEnd + directory.readUInt16LE(at + 32);
    if (next > directory.length) return undefined;
    members.push({
      name: directory.toString("utf8", at + MEMBER_SIZE, nameEnd),
      isEncrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
      method: directory.readUInt16LE(at + 10),
      crc: directory.readUInt32LE(at + 16),
      ...sizes(directory, at, directory.subarray(nameEnd, extraEnd)),
    });
    at = next;
  }
  return members;
}

/** Sizes beyond 4 GiB are in an extra field, in this order, and only those that did not fit. */
function sizes(directory: Buffer, at: number, extra: Buffer): Pick<ZipMember, "packed" | "size" | "offset"> {
  let wide = wideValues(extra);
  const take = (value: number): number => {
    if (value !== UNKNOWN_32 || wide.length < 8) return value;
    const wider = Number(wide.readBigUInt64LE(0));
    wide = wide.subarray(8);
    return wider;
  };
  const size = take(directory.readUInt32LE(at + 24));
  const packed = take(directory.readUInt32LE(at + 20));
  const offset = take(directory.readUInt32LE(at + 42));
  return { packed, size, offset };
}

function wideValues(extra: Buffer): Buffer {
  let at = 0;
  while (at + 4 <= extra.length) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === EXTRA_64) return extra.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return Buffer.alloc(0);
}

/** How many bytes of name and extra fields follow the local header; undefined when it is none. */
export function localHeaderLength(header: Buffer): number | undefined {
  if (header.length < LOCAL_SIZE || header.readUInt32LE(0) !== LOCAL) return undefined;
  return LOCAL_SIZE + header.readUInt16LE(26) + header.readUInt16LE(28);
}
