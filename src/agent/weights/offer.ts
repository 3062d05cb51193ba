import { err, ok, type Result } from "../../core/result.ts";
import type { FileChoice, OfferedFile } from "../../engines/engine.ts";

/** A file of a model at its source. */
export interface RemoteFile extends OfferedFile {
  /** Hex, as the source publishes it. */
  readonly sha256: string | undefined;
}

export type Choose = (offered: readonly OfferedFile[]) => Result<FileChoice, string>;

const SHARD = /^(.+)-(\d{5})-of-(\d{5})(\.[A-Za-z]+)$/;
const NAMES_SHOWN = 6;

/** All shards of the model that the file is a shard of, in order; just the file when it is none. */
export function shardsOf(name: string): readonly string[] {
  const [, prefix, , total, ending] = SHARD.exec(name) ?? [];
  if (prefix === undefined || total === undefined || ending === undefined) return [name];
  return Array.from({ length: Number(total) }, (_, i) => {
    return `${prefix}-${String(i + 1).padStart(5, "0")}-of-${total}${ending}`;
  });
}

/** What the source offers when it names one file: that file, with the other shards of its model. */
export function offerOf<T extends OfferedFile>(all: readonly T[], named: string | undefined): readonly T[] {
  if (named === undefined) return all;
  const wanted = new Set([named, ...shardsOf(named)]);
  return all.filter((file) => wanted.has(file.name));
}

/**
 * Which files of the offer to have. The profile's globs decide when there are any; the engine then only says which of those
 * it is pointed at.
 */
export function chooseFrom(
  offered: readonly OfferedFile[],
  globs: readonly string[],
  choose: Choose,
): Result<FileChoice, string> {
  if (globs.length === 0) return choose(offered);
  const patterns = globs.map(globPattern);
  const matching = offered.filter(({ name }) => patterns.some((pattern) => pattern.test(name)));
  if (matching.length === 0) {
    return err(`files: ${globs.join(", ")} match nothing of what the source offers: ${shownNames(offered)}`);
  }
  const chosen = choose(matching);
  return chosen.ok ? ok({ files: matching.map(({ name }) => name), main: chosen.value.main }) : chosen;
}

export function shownNames(files: readonly OfferedFile[]): string {
  if (files.length === 0) return "nothing";
  const rest = files.length - NAMES_SHOWN;
  const shown = files.slice(0, NAMES_SHOWN).map(({ name }) => name);
  return `${shown.join(", ")}${rest > 0 ? ` and ${String(rest)} more` : ""}`;
}

/**
 * `*` and `?` stay within a folder, `**` does not. A glob without a slash matches names in any folder, as it does for the
 * Hub's own tools.
 */
export function globPattern(glob: string): RegExp {
  const body = glob.replace(/\*\*\/?|[*?]|[.+^${}()|[\]\\]/g, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    return part === "?" ? "[^/]" : `\\${part}`;
  });
  return new RegExp(`^${glob.includes("/") ? "" : "(?:.*/)?"}${body}$`);
}

/** Whether a name from outside may become a file in a folder of ours: it must not lead out, nor be taken for our own files. */
export function isSafeName(name: string): boolean {
  if (name.includes("\\") || name.includes("\0")) return false;
  return name.split("/").every((part) => part !== "" && !part.startsWith("."));
}
