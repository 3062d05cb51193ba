import { stat } from "node:fs/promises";
import { isErrno } from "./files.ts";

/** Every right of the group and of others. */
const FOR_OTHERS = 0o077;

/** The file's mode, such as "644", when anybody but its owner has a right to it; undefined when nobody has. */
export async function modeForOthers(path: string): Promise<string | undefined> {
  const { mode } = await stat(path);
  return (mode & FOR_OTHERS) === 0 ? undefined : (mode & 0o777).toString(8);
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
