import { join } from "node:path";
import { compareNumbers } from "../../core/compare-numbers.ts";
import { readTextIfThere, removeIfThere, syncFolder, writeFileAtomic } from "../../platform/files.ts";
import { usersOf } from "../../platform/folder-users.ts";
import { listNames, makeFolder, moveUnlessTaken } from "../../platform/folders.ts";
import { findOwner, ownedTag, parseTag, thisProcess } from "../../platform/fetch/owner.ts";

/** What is written into a build's folder when everything else in it is whole and has been tried. */
export interface BuildMarker {
  readonly version: string;
  /** What was asked for when it was installed: a stand-in from elsewhere has a version of its own. */
  readonly asked: string;
  readonly source: string;
  /** Its executable, relative to the folder. */
  readonly binary: string;
  /** Whether an NVIDIA driver was loaded then: without one no build for GPUs was looked for. */
  readonly hadDriver: boolean;
}

export interface InstalledBuild extends BuildMarker {
  readonly folder: string;
  /** Of the executable. */
  readonly path: string;
}

const MARKER = "llmgw-build.json";
const STAGING = ".staging.";

/** A folder beside those of the builds, named after this process. */
export async function openStaging(folder: string): Promise<string> {
  const staging = await stagingPath(folder);
  await makeFolder(staging);
  return staging;
}

/** A name that is this process's own and that nothing has yet. */
export const stagingPath = async (folder: string): Promise<string> =>
  join(folder, `${STAGING}${ownedTag(await thisProcess())}`);

/**
 * Removes what installations left that were killed. Those of processes that may be alive stay, and those in which a program
 * still works that a killed process had started: it ends by itself, and the next sweep finds what it left.
 */
export async function sweepStaging(folder: string): Promise<void> {
  for (const name of await listNames(folder)) {
    if (!name.startsWith(STAGING)) continue;
    const owner = parseTag(name.slice(STAGING.length));
    const isAbandoned = owner === undefined || owner === "free" || (await findOwner(owner)) === "dead";
    if (isAbandoned && !(await isWorkedIn(join(folder, name)))) await removeIfThere(join(folder, name));
  }
}

/** Not knowing is no reason to keep what a dead process left. */
async function isWorkedIn(folder: string): Promise<boolean> {
  const users = await usersOf(folder);
  return users !== "unknown" && users.length > 0;
}

/**
 * Makes the staged folder a build: the marker, then the rename. A build that has the name already is left as it is, since
 * engines may be running from it, and this one gets a number.
 */
export async function commitStaging(staging: string, name: string, marker: BuildMarker): Promise<InstalledBuild> {
  await writeFileAtomic(join(staging, MARKER), `${JSON.stringify(marker, undefined, 2)}\n`);
  const parent = join(staging, "..");
  for (let number = 1; ; number++) {
    const folder = join(parent, number === 1 ? name : `${name}.${String(number)}`);
    if (await moveUnlessTaken(staging, folder)) {
      await syncFolder(parent);
      return { ...marker, folder, path: join(folder, marker.binary) };
    }
  }
}

/** Every finished build, the newest version first. */
export async function listInstalled(folder: string): Promise<readonly InstalledBuild[]> {
  const found = await Promise.all((await listNames(folder)).map((name) => readInstalled(join(folder, name))));
  return found.flatMap((build) => build ?? []).toSorted((a, b) => compareNumbers(b.version, a.version));
}

async function readInstalled(folder: string): Promise<InstalledBuild | undefined> {
  if (folder.includes(`/${STAGING}`)) return undefined;
  const marker = parseMarker((await readTextIfThere(join(folder, MARKER)).catch(() => undefined)) ?? "");
  return marker === undefined ? undefined : { ...marker, folder, path: join(folder, marker.binary) };
}

function parseMarker(text: string): BuildMarker | undefined {
  try {
    const { version, asked, source, binary, hadDriver } = JSON.parse(text) as Partial<
      Record<keyof BuildMarker, unknown>
    >;
    const strings = [version, asked, source, binary];
    if (!strings.every((value) => typeof value === "string") || typeof hadDriver !== "boolean") return undefined;
    return {
      version: String(version),
      asked: String(asked),
      source: String(source),
      binary: String(binary),
      hadDriver,
    };
  } catch {
    return undefined;
  }
}
