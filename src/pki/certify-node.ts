import type { PublicKey } from "@peculiar/x509";
import { holdingFolder, loadAuthority, readIssued, writeIssued } from "./authority-folder.ts";
import { entryOf } from "./commands.ts";
import { certify, type Leaf } from "./make.ts";
import { NODES } from "./roles.ts";

/** A node's certificate in PEM for the node's own key, written down among those that the folder's authority has issued. */
export const certifyNode = (
  dir: string,
  leaf: Pick<Leaf, "commonName" | "names" | "now" | "lifetime">,
  publicKey: PublicKey,
): Promise<string> =>
  holdingFolder(dir, async () => {
    const authority = await loadAuthority(dir);
    const certificate = await certify(authority, { ...leaf, organization: NODES, usage: "client" }, publicKey);
    // Listed before it is handed out: a certificate that is in no list could never be revoked by its name.
    await writeIssued(dir, [...(await readIssued(dir)), entryOf({ name: leaf.commonName, role: "node" }, certificate)]);
    return certificate;
  });
