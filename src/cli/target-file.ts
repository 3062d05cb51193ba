import { dirname } from "node:path";
import { LlmgwError } from "../core/errors.ts";
import { stampOf } from "../platform/file-start.ts";

/** Fails in words, before any work is done, when no file of that name can be made. */
export async function checkTarget(file: string, force: boolean): Promise<void> {
  const there = await stampOf(file);
  if (there?.isFolder === true) throw new LlmgwError("BAD_REQUEST", `${file} is a folder: name a file in it.`);
  if (there !== undefined && !force) {
    throw new LlmgwError("CONFLICT", `There is a file ${file} already: take another name, or give --force.`);
  }
  const folder = dirname(file);
  if ((await stampOf(folder))?.isFolder !== true) {
    throw new LlmgwError("BAD_REQUEST", `There is no folder ${folder} to write into.`);
  }
}
