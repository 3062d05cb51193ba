import { join } from "node:path";
import { fileStamp } from "../../platform/folders.ts";
import { hashFile } from "../../platform/hash-file.ts";
import { lasting, type WeightFailure } from "./failure.ts";

export type Pins = Readonly<Record<string, string>>;

/** The profile's pin for a file, by its whole name or by its name alone; lower case. */
export function pinOf(pins: Pins, name: string): string | undefined {
  const own = Object.hasOwn(pins, name) ? pins[name] : undefined;
  const base = name.slice(name.lastIndexOf("/") + 1);
  return (own ?? (Object.hasOwn(pins, base) ? pins[base] : undefined))?.toLowerCase();
}

/** A pin that contradicts what is published is never going to be met, so nothing is fetched for it. */
export function pinConflict(
  source: string,
  pins: Pins,
  files: readonly { readonly name: string; readonly sha256: string | undefined }[],
): WeightFailure | undefined {
  for (const { name, sha256 } of files) {
    const pin = pinOf(pins, name);
    if (pin === undefined || sha256 === undefined || pin === sha256.toLowerCase()) continue;
    return wrongPin(`${source}: ${name}`, pin, sha256);
  }
  return undefined;
}

const wrongPin = (what: string, pin: string, is: string): WeightFailure =>
  lasting("checksum", `${what} has the sha256 ${is}, the profile pins ${pin}`);

export interface PinCheck {
  /** Hashes the pinned ones of files that were not fetched here. */
  check(
    source: string,
    pins: Pins,
    at: { readonly folder: string; readonly names: readonly string[] },
  ): Promise<WeightFailure | undefined>;
}

/** Remembers hashes as long as the file is the same: hashing a large model takes a minute. */
export function createPinCheck(): PinCheck {
  const known = new Map<string, { readonly stamp: string; readonly sha256: string }>();
  const hashOf = async (path: string): Promise<string | undefined> => {
    const stamp = await fileStamp(path);
    if (stamp === undefined) return undefined;
    const before = known.get(path);
    if (before?.stamp === stamp) return before.sha256;
    const sha256 = await hashFile(path);
    known.set(path, { stamp, sha256 });
    return sha256;
  };
  return {
    async check(source, pins, { folder, names }) {
      for (const name of names) {
        const pin = pinOf(pins, name);
        if (pin === undefined) continue;
        const sha256 = (await hashOf(join(folder, name))) ?? "(none: the file is gone)";
        if (sha256 !== pin) return wrongPin(`${source}: ${join(folder, name)}`, pin, sha256);
      }
      return undefined;
    },
  };
}
