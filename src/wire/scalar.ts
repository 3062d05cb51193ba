import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";

const UINT32_MAX = 0xffff_ffff;
/** The last millisecond of the year 9999: protobuf's JSON form refuses a later timestamp, and an earlier one than year 1. */
const LAST_MS = 253_402_300_799_999;
const FIRST_MS = -62_135_596_800_000;

/** The nearest number that a uint32 field can carry; the encoder throws on any other. */
export const toUint32 = (n: number | undefined): number => Math.trunc(within(n ?? 0, 0, UINT32_MAX));

/** 0 on the wire stands for "not known" in the fields that use this. */
export const zeroAsUnknown = <T>(n: number, brand: (n: number) => T): T | undefined => (n === 0 ? undefined : brand(n));

export const toTimestamp = (ms: number): Timestamp => timestampFromMs(Math.round(within(ms, FIRST_MS, LAST_MS)));

/** Text that every reader takes: a line that was cut in the middle of a character holds half of it, and JSON readers refuse that. */
export const toText = (text: string): string => text.toWellFormed();

/** A number from elsewhere as a number of things; 0 for what cannot be one. */
export const asCount = (n: number): number => (Number.isSafeInteger(n) && n > 0 ? n : 0);

const within = (n: number, least: number, most: number): number =>
  Number.isNaN(n) ? 0 : Math.min(Math.max(n, least), most);
