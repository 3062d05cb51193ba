// The library looks up metadata that this one makes, and fails without it.
import "reflect-metadata";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  type PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
  X509CrlGenerator,
  X509CrlReason,
} from "@peculiar/x509";
import { createPrivateKey, type KeyObject, randomBytes, type webcrypto } from "node:crypto";
import { type Millis, millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { BACKDATED } from "./backdated.ts";
import { CLIENT_AUTH, SERVER_AUTH } from "./certificate.ts";
import type { NameEntry } from "./names.ts";

type CryptoKeyPair = webcrypto.CryptoKeyPair;
type SigningAlgorithm = webcrypto.Algorithm & { readonly namedCurve?: string; readonly hash?: string };

const SERIAL_BYTES = 16;
const CURVE = { name: "ECDSA", namedCurve: "P-256" };
/** What certificates for keys of our own making are made with. */
export const SIGNATURE = { name: "ECDSA", hash: "SHA-256" };

/** A certificate and its private key, both in PEM. */
export interface Issued {
  readonly certificate: string;
  readonly key: string;
}

/** What can sign. */
export interface Authority {
  readonly certificate: X509Certificate;
  readonly key: webcrypto.CryptoKey;
  readonly algorithm: SigningAlgorithm;
}

export interface Leaf {
  readonly commonName: string;
  readonly organization?: string;
  readonly names: readonly NameEntry[];
  readonly usage: "client" | "server";
  readonly now: Millis;
  /** It ends no later than its authority. */
  readonly lifetime: Millis;
  /** Left out: five minutes before now. */
  readonly notBefore?: Millis;
}

/** Makes an authority that signs leaves and no further authorities. */
export async function createAuthority(options: { readonly now: Millis; readonly lifetime: Millis }): Promise<Issued> {
  const keys = await newKeys();
  const serial = newSerial();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serial,
    // Two authorities with one name would be taken for each other in every message.
    name: [{ CN: [`llmgw authority ${serial.slice(0, 8)}`] }],
    notBefore: new Date(options.now - BACKDATED),
    notAfter: new Date(options.now + options.lifetime),
    keys,
    signingAlgorithm: SIGNATURE,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pemOf("CERTIFICATE", certificate.rawData), key: await keyText(keys) };
}

/** Reads an authority, ours or another maker's. The texts have been checked before: they belong together. */
export function openAuthority({ certificate, key }: Issued): Result<Authority, string> {
  const object = createPrivateKey(key);
  const algorithm = algorithmOf(object);
  if (algorithm === undefined) {
    const type = object.asymmetricKeyType ?? "unknown";
    return err(`is a key of type ${type}, and authorities need an EC key on P-256 or P-384, an RSA or an Ed25519 key`);
  }
  const signing = object.toCryptoKey(algorithm, false, ["sign"]);
  return ok({ certificate: new X509Certificate(certificate), key: signing, algorithm });
}

/** How a key of this kind signs; undefined: no key of a kind that we take. */
export function algorithmOf(key: KeyObject): SigningAlgorithm | undefined {
  const curve = key.asymmetricKeyDetails?.namedCurve ?? "";
  const known: Readonly<Record<string, SigningAlgorithm>> = {
    "ec prime256v1": { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
    "ec secp384r1": { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
    rsa: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    ed25519: { name: "Ed25519" },
  };
  return known[`${key.asymmetricKeyType ?? ""} ${curve}`.trim()];
}

/** A new key, and a certificate for it. */
export async function issue(authority: Authority, leaf: Leaf): Promise<Issued> {
  const keys = await newKeys();
  return { certificate: await certify(authority, leaf, keys.publicKey), key: await keyText(keys) };
}

/** A certificate for a key that is somebody else's, in PEM. */
export async function certify(
  authority: Authority,
  leaf: Leaf,
  publicKey: webcrypto.CryptoKey | PublicKey,
): Promise<string> {
  const { notBefore = millis(leaf.now - BACKDATED) } = leaf;
  const end = Math.min(leaf.now + leaf.lifetime, authority.certificate.notAfter.getTime());
  const organization = leaf.organization === undefined ? [] : [{ O: [leaf.organization] }];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject: [...organization, { CN: [leaf.commonName] }],
    issuer: authority.certificate.subjectName,
    notBefore: new Date(notBefore),
    notAfter: new Date(end),
    publicKey,
    signingKey: authority.key,
    signingAlgorithm: authority.algorithm,
    extensions: await leafExtensions(authority, leaf, publicKey),
  });
  return pemOf("CERTIFICATE", certificate.rawData);
}

async function leafExtensions(
  authority: Authority,
  leaf: Leaf,
  publicKey: webcrypto.CryptoKey | PublicKey,
): Promise<Extension[]> {
  return [
    ...endEntity(leaf),
    await AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey),
    await SubjectKeyIdentifierExtension.create(publicKey),
  ];
}

/** What is in every certificate that is no authority's, whoever signs it. */
export const endEntity = ({ names, usage }: Pick<Leaf, "names" | "usage">): Extension[] => [
  new BasicConstraintsExtension(false, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  new ExtendedKeyUsageExtension([usage === "server" ? SERVER_AUTH : CLIENT_AUTH]),
  new SubjectAlternativeNameExtension(names.map(({ kind, value }) => ({ type: kind, value }))),
];

export interface Revocation {
  readonly serial: string;
  readonly at: Millis;
}

/** The list of revoked certificates, signed, in PEM. It holds for as long as the authority does: nobody renews it. */
export async function signRevocations(
  authority: Authority,
  { revocations, now }: { readonly revocations: readonly Revocation[]; readonly now: Millis },
): Promise<string> {
  const crl = await X509CrlGenerator.create({
    issuer: authority.certificate.subjectName,
    thisUpdate: new Date(now),
    nextUpdate: authority.certificate.notAfter,
    entries: revocations.map(({ serial, at }) => ({
      serialNumber: serial,
      revocationDate: new Date(at),
      reason: X509CrlReason.privilegeWithdrawn,
    })),
    signingKey: authority.key,
    signingAlgorithm: authority.algorithm,
    extensions: [await AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey), listNumber(now)],
  });
  return pemOf("X509 CRL", crl.rawData);
}

const CRL_NUMBER = "2.5.29.20";

/** Each list must have a higher number than the one before; the time is one that needs no counter. */
function listNumber(now: Millis): Extension {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(now));
  const bytes = number.subarray(number.findIndex((byte) => byte !== 0));
  // A first bit of 1 would make the number negative.
  const positive = (bytes[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
  return new Extension(CRL_NUMBER, false, Buffer.concat([Buffer.of(0x02, positive.length), positive]));
}

export const newKeys = async (): Promise<CryptoKeyPair> => crypto.subtle.generateKey(CURVE, true, ["sign", "verify"]);

/** Its first byte, from 0x40 to 0x7f, keeps every number positive and as long as any other when it is written. */
export function newSerial(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
}

export async function keyText(keys: CryptoKeyPair): Promise<string> {
  return pemOf("PRIVATE KEY", await crypto.subtle.exportKey("pkcs8", keys.privateKey));
}

/** The label that openssl knows; the library has one of its own for some kinds. */
export function pemOf(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
