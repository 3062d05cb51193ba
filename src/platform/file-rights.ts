import { stat } from "node:fs/promises";
import { isErrno } from "./files.ts";

const GROUP = 0o070;
const OTHERS = 0o007;
const ROOT = 0;

export interface Owned {
  readonly mode: number;
  readonly uid: number;
}

/**
 * The file's mode, such as "644", when anybody may read or change it who need not; undefined when nobody may. A file of
 * root's may be its group's: that is how root gives one to a service that runs as somebody else.
 */
export function tooOpen({ mode, uid }: Owned, self = process.getuid?.()): string | undefined {
  const isGiven = uid === ROOT && self !== ROOT;
  const forbidden = isGiven ? OTHERS | 0o030 : GROUP | OTHERS;
  return (mode & forbidden) === 0 ? undefined : (mode & 0o777).toString(8);
}

/** {@link tooOpen} of the file at that path. */
export async function modeForOthers(path: string): Promise<string | undefined> {
  return tooOpen(await stat(path));
}

/** Proven: what cannot be looked at may well be there. */
export async function isMissing(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    return isErrno(error, "ENOENT");
  }
}
