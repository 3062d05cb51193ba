import { join } from "node:path";
import { type Bytes, bytes } from "../../core/ids.ts";
import type { FileChoice } from "../../engines/engine.ts";
import { findFile } from "../../platform/found-files.ts";

/** A model that is whole on this machine. */
export interface ReadyModel {
  /** What the engine is pointed at: the main file, or the folder. */
  readonly mainPath: string;
  readonly folder: string;
  /** Each file's bytes once, whatever links lead to it. */
  readonly bytes: Bytes;
  /** Whole paths of everything that was chosen. */
  readonly files: readonly string[];
}

/** What a file must be to count as there; 0 bytes: any size but none. */
export interface ExpectedFile {
  readonly name: string;
  readonly bytes: number;
}

/** The model as the disk has it; undefined when a file is missing, has become shorter or longer, or is only a link to nowhere. */
export async function lookAtModel(
  folder: string,
  main: string,
  expected: readonly ExpectedFile[],
): Promise<ReadyModel | undefined> {
  const found = await Promise.all(expected.map(({ name }) => findFile(join(folder, name))));
  const sizes = new Map<string, number>();
  for (const [i, want] of expected.entries()) {
    const file = found[i];
    if (file === undefined || file.bytes === 0) return undefined;
    if (want.bytes !== 0 && file.bytes !== want.bytes) return undefined;
    sizes.set(file.inode, file.bytes);
  }
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return {
    mainPath: main === "" ? folder : join(folder, main),
    folder,
    bytes: bytes(total),
    files: expected.map(({ name }) => join(folder, name)),
  };
}

export const expectedFiles = (choice: FileChoice, offered: readonly ExpectedFile[]): readonly ExpectedFile[] =>
  choice.files.map((name) => ({ name, bytes: offered.find((file) => file.name === name)?.bytes ?? 0 }));
