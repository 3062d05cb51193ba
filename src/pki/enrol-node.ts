import { messageOf } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { loadAuthority } from "./authority-folder.ts";
import { certifyNode } from "./certify-node.ts";
import { idEntry, idProblem } from "./commands.ts";
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
  const leaf = { commonName: node, names: [idEntry(node)], now, lifetime: LIFETIME };
  return certifyNode(dir, leaf, key.value.publicKey);
}

/** Whether the folder's authority can sign; the error says in words why not. */
export async function canSign(dir: string): Promise<Result<undefined, string>> {
  try {
    await loadAuthority(dir);
    return ok(undefined);
  } catch (error) {
    return err(messageOf(error));
  }
}
