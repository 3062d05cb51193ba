// The library looks up metadata that this one makes, and fails without it.
import "reflect-metadata";
import { Pkcs10CertificateRequest, Pkcs10CertificateRequestGenerator, type PublicKey } from "@peculiar/x509";
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";
import { algorithmOf, keyText, newKeys, pemOf } from "./make.ts";
import { blocksOf } from "./pem.ts";

const LABEL = "CERTIFICATE REQUEST";
/** Shorter RSA keys are refused by TLS libraries of our time. */
const LEAST_RSA_BITS = 2048;

/** A new private key in PEM, P-256. */
export const newPrivateKey = async (): Promise<string> => keyText(await newKeys());

/** Asks for a certificate of that name for the key: PKCS#10 in PEM. The key, in PEM, has been read before. */
export async function signingRequest(commonName: string, key: string): Promise<string> {
  const own = createPrivateKey(key);
  const algorithm = algorithmOf(own);
  if (algorithm === undefined) throw new Error(kindProblem(own));
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    keys: {
      privateKey: own.toCryptoKey(algorithm, false, ["sign"]),
      publicKey: createPublicKey(own).toCryptoKey(algorithm, true, ["verify"]),
    },
    signingAlgorithm: algorithm,
  });
  return pemOf(LABEL, request.rawData);
}

/** What of a signing request may be believed: only the key, which its sender has. */
export interface RequestedKey {
  readonly publicKey: PublicKey;
  /** SHA-256 of the public key, hexadecimal. */
  readonly hash: string;
}

/** Reads a signing request for that name. The error is a whole sentence without its full stop. */
export async function readSigningRequest(text: string, commonName: string): Promise<Result<RequestedKey, string>> {
  const block = blocksOf(text).find(({ label }) => label === LABEL || label === `NEW ${LABEL}`);
  if (block === undefined) return err(`no signing request was sent (no line -----BEGIN ${LABEL}-----)`);
  try {
    const request = new Pkcs10CertificateRequest(block.text.replaceAll(`NEW ${LABEL}`, LABEL));
    const named = request.subjectName.getField("CN").join("+");
    if (named !== commonName) {
      return err(`the signing request names ${named === "" ? "nobody" : named}, and the node is ${commonName}`);
    }
    const spki = Buffer.from(request.publicKey.rawData);
    const problem = kindProblem(createPublicKey({ key: spki, format: "der", type: "spki" }));
    if (problem !== undefined) return err(problem);
    if (!(await request.verify())) return err("the signing request is not signed by its own key");
    return ok({ publicKey: request.publicKey, hash: createHash("sha256").update(spki).digest("hex") });
  } catch (error) {
    return err(`the signing request cannot be read: ${messageOf(error)}`);
  }
}

function kindProblem(key: KeyObject): string | undefined {
  const type = key.asymmetricKeyType ?? "unknown";
  if (algorithmOf(key) === undefined) {
    return `a key of type ${type} cannot be a node's: it must be an EC key on P-256 or P-384, an RSA or an Ed25519 key`;
  }
  const { modulusLength } = key.asymmetricKeyDetails ?? {};
  if (modulusLength === undefined || modulusLength >= LEAST_RSA_BITS) return undefined;
  return `an RSA key of ${String(modulusLength)} bits cannot be a node's: it needs at least ${String(LEAST_RSA_BITS)}`;
}
