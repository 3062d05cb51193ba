import { join } from "node:path";
import type { ServerConfig } from "../config/server.ts";
import { LlmgwError } from "../core/errors.ts";
import { piecesOf } from "../platform/pieces.ts";
import { privateFolder } from "../platform/private-folder.ts";
import { ensurePrivateFile } from "../platform/private-file.ts";
import { copySqlite } from "../store/sqlite-copy.ts";

/** Where a control plane's own store is, unless the configuration names another place. */
export const storePath = ({ store }: Pick<ServerConfig, "store">, dataDir: string): string =>
  store?.kind === "sqlite" ? store.path : join(dataDir, "server.db");

/** A copy of the store in pieces. It lies in the data folder until it is read, where only the owner can look. */
export async function* copyOfStore(
  config: Pick<ServerConfig, "store">,
  dataDir: string,
): AsyncGenerator<Uint8Array, undefined> {
  if (config.store?.kind === "postgres") {
    throw new LlmgwError("FAILED", "the store is PostgreSQL: copy it with pg_dump, and bring it back with pg_restore.");
  }
  await using folder = await privateFolder(dataDir);
  const copy = join(folder.path, "copy.db");
  await ensurePrivateFile(copy);
  await copySqlite(storePath(config, dataDir), copy);
  yield* piecesOf(copy);
  return undefined;
}
