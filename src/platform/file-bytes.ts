import { stat } from "node:fs/promises";

/** The size of a file; 0 when there is none that can be asked. */
export async function fileBytes(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true ? found.size : 0;
}
