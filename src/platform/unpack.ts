import { mkdir, symlink } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { ReadEntry } from "tar";
import { messageOf } from "../core/errors.ts";
import { formatBytes } from "../core/format.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isErrno } from "./files.ts";
import { readDisk } from "./host.ts";

export interface UnpackFailure {
  readonly kind: "bad-archive" | "no-space" | "refused";
  readonly message: string;
}

interface Link {
  readonly path: string;
  readonly target: string;
}

interface Contents {
  readonly links: readonly Link[];
  readonly bytes: number;
}

/** Left free, so that what else lives on that disk does not suffer. */
const RESERVE_BYTES = 64 * 1024 * 1024;

/**
 * Unpacks a tar archive, compressed or not, into an existing empty folder. Everything in it is looked at first, and one
 * entry that is or points outside the folder, or is no file, folder or link, refuses the whole archive before a byte is
 * written. Owners are not kept, and no file becomes set-user-id.
 */
export async function unpackTar(archive: string, folder: string): Promise<Result<undefined, UnpackFailure>> {
  try {
    const contents = await inspect(archive);
    if (!contents.ok) return contents;
    const disk = await readDisk(folder);
    if (disk !== undefined && disk.free < contents.value.bytes + RESERVE_BYTES) {
      const needs = formatBytes(contents.value.bytes + RESERVE_BYTES);
      return err({
        kind: "no-space",
        message: `unpacking needs ${needs} in ${folder}, ${formatBytes(disk.free)} are free`,
      });
    }
    // Loaded when there is something to unpack: most of an agent's life there is not.
    const { extract } = await import("tar");
    await extract({
      file: archive,
      cwd: folder,
      strict: true,
      preserveOwner: false,
      umask: 0o022,
      filter: (_path, entry) => {
        if (isEntry(entry)) entry.mode = ((entry.mode ?? 0o644) & 0o777) | 0o200;
        return !isEntry(entry) || entry.type !== "SymbolicLink";
      },
    });
    await makeLinks(contents.value.links, folder);
    return ok(undefined);
  } catch (error) {
    return err(failureOf(error, archive));
  }
}

const isEntry = (entry: object): entry is ReadEntry => "type" in entry;

async function inspect(archive: string): Promise<Result<Contents, UnpackFailure>> {
  const links: Link[] = [];
  let bytes = 0;
  let problem: string | undefined;
  const { list } = await import("tar");
  await list({
    file: archive,
    strict: true,
    onReadEntry: (entry) => {
      problem ??= problemOf(entry);
      bytes += entry.size;
      if (entry.type === "SymbolicLink") links.push({ path: entry.path, target: entry.linkpath ?? "" });
    },
  });
  if (problem !== undefined) return err({ kind: "bad-archive", message: `${archive} is refused: ${problem}` });
  return ok({ links, bytes });
}

const KINDS: readonly string[] = [
  "File",
  "OldFile",
  "ContiguousFile",
  "Directory",
  "GNUDumpDir",
  "SymbolicLink",
  "Link",
];

function problemOf({ type, path, linkpath = "" }: ReadEntry): string | undefined {
  if (!KINDS.includes(type)) return `${path} is a ${type}`;
  if (isOutside(path)) return `the entry ${path} is outside its folder`;
  if (type === "SymbolicLink" && isOutsideLink(path, linkpath)) return `the link ${path} leads outside, to ${linkpath}`;
  if (type === "Link" && isOutside(linkpath)) return `the link ${path} leads outside, to ${linkpath}`;
  return undefined;
}

const isOutside = (path: string): boolean => path.startsWith("/") || path.split("/").includes("..");

/** `..` may stand at the beginning only: after another part it may go up from wherever a second link leads. */
function isOutsideLink(path: string, target: string): boolean {
  if (target === "" || target.startsWith("/")) return true;
  const parts = target.split("/").filter((part) => part !== "." && part !== "");
  const climbs = parts.findIndex((part) => part !== "..");
  if (climbs >= 0 && parts.slice(climbs).includes("..")) return true;
  return posix.join(posix.dirname(path), target).split("/").includes("..");
}

/** Made when all files are there, so that nothing is ever written through one. */
async function makeLinks(links: readonly Link[], folder: string): Promise<void> {
  for (const { path, target } of links) {
    const at = join(folder, path);
    await mkdir(dirname(at), { recursive: true });
    await symlink(target, at);
  }
}

function failureOf(error: unknown, archive: string): UnpackFailure {
  if (isErrno(error, "ENOSPC", "EDQUOT")) {
    return { kind: "no-space", message: `the disk became full while ${archive} was unpacked` };
  }
  if (isErrno(error, "EACCES", "EPERM", "EROFS", "EIO")) {
    return { kind: "refused", message: `${archive} cannot be unpacked: ${messageOf(error)}` };
  }
  return { kind: "bad-archive", message: `${archive} is damaged or no tar archive: ${messageOf(error)}` };
}
