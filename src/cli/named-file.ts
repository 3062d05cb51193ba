import { LlmgwError } from "../core/errors.ts";
import { readTextIfThere } from "../platform/files.ts";

/** The text of a file that an option names. `what` is for the message: "the join token". */
export async function readNamedFile(path: string, what: string): Promise<string> {
  const text = await readTextIfThere(path);
  if (text === undefined) throw new LlmgwError("BAD_REQUEST", `There is no file ${path} to read ${what} from.`);
  return text;
}
