import { join } from "node:path";
import { formatBytes } from "../../../core/format.ts";
import { bytes } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { readTextIfThere } from "../../../platform/files.ts";
import { fileBytes } from "../../../platform/file-bytes.ts";
import { readDisk } from "../../../platform/host.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { DOWNLOADS, dropOtherDownloads } from "../downloads.ts";
import { ABORTED, failed, fetchFailed, type InstallFailure } from "../failure.ts";
import type { LockedWheel } from "./lock.ts";

/**
 * What a wheel becomes when it is unpacked, times its size, with something to spare: the 3.7 GiB of vLLM 0.32 and PyTorch 2.13
 * become 8.2 GiB. Where it is too low, uv still says so.
 */
const UNPACKED = 2.5;
const WHEELS_AT_ONCE = 4;

interface Fetching {
  readonly wheels: readonly LockedWheel[];
  /** For people, such as "vllm 0.33.0". */
  readonly what: string;
  /** What an index's own host wants to be told. */
  readonly headersFor: (url: string) => Readonly<Record<string, string>>;
}

/** Fetches every wheel whole and checked; the folder that they are in then. */
export async function fetchWheels(
  context: InstallContext,
  { wheels, what, headersFor }: Fetching,
  request: InstallRequest,
): Promise<Result<string, InstallFailure>> {
  const folder = join(context.folder, DOWNLOADS);
  await dropOtherDownloads(
    context.folder,
    wheels.map(({ file }) => file),
  );
  const obstacle = await spaceFor(wheels, folder, what);
  if (obstacle !== undefined) return err(obstacle);
  const report = reporter(wheels, what, request);
  const queue = [...wheels];
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);
  let failure: InstallFailure | undefined;
  const work = async (): Promise<void> => {
    for (let wheel = queue.shift(); wheel !== undefined && !signal.aborted; wheel = queue.shift()) {
      const { url, file, sha256, bytes: size } = wheel;
      const fetched = await context.downloader.file({
        ...{ url, target: join(folder, file), sha256, headers: headersFor(url), signal },
        ...(size === 0 ? {} : { bytes: size }),
        onProgress: ({ done, bytesPerSecond }) => {
          report(file, done, bytesPerSecond);
        },
      });
      if (fetched.ok) {
        report(file, fetched.value.bytes, 0);
        continue;
      }
      // The others' being stopped for it is no reason of its own.
      failure ??= fetchFailed(fetched.error);
      stop.abort();
    }
  };
  await Promise.all(Array.from({ length: WHEELS_AT_ONCE }, work));
  if (request.signal.aborted) return err(ABORTED);
  return failure === undefined ? ok(folder) : err(failure);
}

async function spaceFor(
  wheels: readonly LockedWheel[],
  folder: string,
  what: string,
): Promise<InstallFailure | undefined> {
  const total = wheels.reduce((sum, wheel) => sum + wheel.bytes, 0);
  const there = await Promise.all(wheels.map(({ file }) => fileBytes(join(folder, file))));
  const needed = total * (1 + UNPACKED) - there.reduce((sum, size) => sum + size, 0);
  const disk = await readDisk(folder);
  if (disk === undefined || disk.free >= needed) return undefined;
  const [needs, free] = [formatBytes(needed), formatBytes(disk.free)];
  return failed("no-space", `${what} needs about ${needs} below ${folder} while it is installed, ${free} are free`);
}

/** One progress over all, whichever of them is being fetched. */
function reporter(
  wheels: readonly LockedWheel[],
  what: string,
  request: InstallRequest,
): (file: string, done: number, bytesPerSecond: number) => void {
  const sizes = new Map(wheels.map((wheel) => [wheel.file, wheel.bytes]));
  const done = new Map<string, number>();
  const rates = new Map<string, number>();
  const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);
  return (file, bytesDone, bytesPerSecond) => {
    done.set(file, bytesDone);
    sizes.set(file, Math.max(sizes.get(file) ?? 0, bytesDone));
    rates.set(file, bytesPerSecond);
    request.onProgress({
      what,
      bytesDone: bytes(sum(done.values())),
      bytesTotal: bytes(sum(sizes.values())),
      bytesPerSecond: sum(rates.values()),
    });
  };
}

const SUMS = "SHA256SUMS";

/** In a folder of wheels: a file SHA256SUMS is believed over the wheels. Undefined: nothing speaks against them. */
export async function checkSums(folder: string, wheels: readonly LockedWheel[]): Promise<InstallFailure | undefined> {
  const text = await readTextIfThere(join(folder, SUMS));
  if (text === undefined) return undefined;
  const sums = new Map(
    [...text.matchAll(/^([0-9a-f]{64})[ \t]+\*?(?:\.\/)?(.+?)\r?$/gim)].map(([, hash = "", file = ""]) => [file, hash]),
  );
  for (const { file, sha256: is } of wheels) {
    const right = sums.get(file)?.toLowerCase();
    if (right === undefined) return failed("checksum", `${SUMS} in ${folder} does not name ${file}`);
    if (is === right) continue;
    return failed(
      "checksum",
      `${join(folder, file)} does not have the right bytes: its sha256 is ${is}, ${right} is right`,
    );
  }
  return undefined;
}
