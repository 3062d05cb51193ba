import { type Millis, millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { holdingFolder, loadAuthority, readIssued, writeIssued } from "./authority-folder.ts";
import { entryOf, idEntry, idProblem } from "./commands.ts";
import { certify } from "./make.ts";
import { NODES } from "./roles.ts";
import { readSigningRequest, type RequestedKey } from "./signing-request.ts";

/** Renewed over the node's own stream after two thirds of it; a node that was off for longer than the rest joins anew. */
const LIFETIME = millis(90 * 86_400_000);

/** The request's key, or why no certificate can be made for that node and that request, in words. */
export async function requestedKey(node: string, request: string): Promise<Result<RequestedKey, string>> {
  const problem = idProblem(node);
  return problem === undefined ? readSigningRequest(request, node) : err(problem);
}

/** A node's certificate in PEM, written down among those that the folder's authority has issued. */
export async function enrolNode(
  node: string,
  request: string,
  { dir, now }: { readonly dir: string; readonly now: Millis },
): Promise<string> {
  const key = await requestedKey(node, request);
  if (!key.ok) throw new Error(key.error);
  return holdingFolder(dir, async () => {
    const authority = await loadAuthority(dir);
    const leaf = { commonName: node, organization: NODES, names: [idEntry(node)], usage: "client" as const };
    const certificate = await certify(authority, { ...leaf, now, lifetime: LIFETIME }, key.value.publicKey);
    // Listed before it is handed out: a certificate that is in no list could never be revoked by its name.
    await writeIssued(dir, [...(await readIssued(dir)), entryOf({ name: node, role: "node" }, certificate)]);
    return certificate;
  });
}

/** Whether the folder's authority can sign; the error says in words why not. */
export async function canSign(dir: string): Promise<Result<undefined, string>> {
  try {
    await loadAuthority(dir);
    return ok(undefined);
  } catch (error) {
    return err(error instanceof Error ? error.message : String(error));
  }
}
