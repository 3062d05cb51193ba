import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { LlmgwError } from "../core/errors.ts";
import { modeForOthers } from "../platform/file-rights.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";

const TOKEN_BYTES = 32;

/** The token of the data folder: made at the first start, and the same from then on. */
export async function adminToken(dataDir: string): Promise<string> {
  const path = join(dataDir, "admin-token");
  const written = (await readTextIfThere(path))?.trim();
  if (written === "") {
    throw new LlmgwError("BAD_CONFIG", `${path} is empty. Remove it to get a new admin token.`);
  }
  if (written !== undefined) {
    const mode = await modeForOthers(path);
    if (mode === undefined) return written;
    throw new LlmgwError("BAD_CONFIG", `${path} may be read by others (mode ${mode}): run \`chmod 600 ${path}\`.`);
  }
  const token = `llmgw-admin-${randomBytes(TOKEN_BYTES).toString("base64url")}`;
  await writeFileAtomic(path, `${token}\n`, 0o600);
  return token;
}
