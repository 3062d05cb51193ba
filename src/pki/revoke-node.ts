import type { Millis } from "../core/ids.ts";
import { holdingFolder, loadAuthority, readIssued } from "./authority-folder.ts";
import { markRevoked } from "./commands.ts";

/** Revokes every certificate of the node that the folder's authority has issued. Resolves with how many were in force. */
export async function revokeNode(
  node: string,
  { dir, now }: { readonly dir: string; readonly now: Millis },
): Promise<number> {
  return holdingFolder(dir, async () => {
    const authority = await loadAuthority(dir);
    const known = await readIssued(dir);
    // A person or a router of the same name is another.
    const meant = known.filter(
      ({ name, role, revokedAt, notAfter }) =>
        name === node && role === "node" && revokedAt === undefined && notAfter > now,
    );
    if (meant.length > 0) await markRevoked(meant, { dir, now, authority, known });
    return meant.length;
  });
}
