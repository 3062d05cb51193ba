import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";
import { factsOf } from "./certificate.ts";

/** Errors complete the sentence that begins with the file's name. */
type Read<T> = Result<T, string>;

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

interface Block {
  readonly label: string;
  readonly text: string;
}

/** The pieces of a PEM text, in their order; what stands between them is commentary. */
export const blocksOf = (text: string): readonly Block[] =>
  [...text.matchAll(BLOCK)].map(([whole, label = ""]) => ({ label, text: whole }));

const CERTIFICATE_LABELS: readonly string[] = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"];
const isCertificate = ({ label }: Block): boolean => CERTIFICATE_LABELS.includes(label);
const isKey = ({ label }: Block): boolean => label.endsWith("PRIVATE KEY");

/** Every certificate of the text, at least one. */
export function readCertificates(text: string): Read<readonly [X509Certificate, ...X509Certificate[]]> {
  const blocks = blocksOf(text);
  const certificates: X509Certificate[] = [];
  for (const [index, block] of blocks.filter(isCertificate).entries()) {
    try {
      certificates.push(new X509Certificate(block.text));
    } catch (error) {
      return err(`holds a certificate that cannot be read, number ${String(index + 1)}: ${messageOf(error)}`);
    }
  }
  const [first, ...rest] = certificates;
  return first === undefined ? err(whyNoCertificate(text, blocks)) : ok([first, ...rest]);
}

function whyNoCertificate(text: string, blocks: readonly Block[]): string {
  if (text.trim() === "") return "is empty";
  if (blocks.some(isKey)) return "holds a private key and no certificate: are cert and key swapped?";
  return whyNoPem(text, blocks, "certificate");
}

function whyNoPem(text: string, blocks: readonly Block[], wanted: string): string {
  const [other] = blocks;
  if (other !== undefined) return `holds a block ${other.label} and no ${wanted}`;
  if (text.includes("-----BEGIN ")) return `holds a ${wanted} that is cut off: its END line is missing`;
  return `is no PEM text: it has no line -----BEGIN ${wanted.toUpperCase()}----- (openssl converts other forms)`;
}

/** A certificate and those that issued it, each after the one that it signed. */
export function readChain(text: string): Read<readonly [X509Certificate, ...X509Certificate[]]> {
  const read = readCertificates(text);
  if (!read.ok) return read;
  const wrong = read.value.findIndex((certificate, index) => {
    const before = read.value[index - 1];
    return before !== undefined && !before.checkIssued(certificate);
  });
  if (wrong === -1) return read;
  const name = (index: number): string => nameOf(read.value[index]);
  return err(
    `holds its certificates in the wrong order: number ${String(wrong + 1)} (${name(wrong)}) did not issue number ` +
      `${String(wrong)} (${name(wrong - 1)}); the own certificate comes first, then the one that issued it, and so on`,
  );
}

const nameOf = (certificate: X509Certificate | undefined): string =>
  certificate === undefined ? "" : factsOf(certificate).commonName || certificate.subject.replaceAll("\n", ", ");

/** Certificates of authorities, in any order. */
export function readAuthorities(text: string): Read<readonly [X509Certificate, ...X509Certificate[]]> {
  const read = readCertificates(text);
  if (!read.ok) return read;
  const leaf = read.value.find((certificate) => !certificate.ca);
  if (leaf === undefined) return read;
  return err(`holds the certificate of ${nameOf(leaf)}, which is no authority: is it somebody's own certificate?`);
}

/** The one private key of the text. */
export function readKey(text: string): Read<KeyObject> {
  const blocks = blocksOf(text);
  const keys = blocks.filter(isKey);
  const [key] = keys;
  if (key === undefined) return err(whyNoKey(text, blocks));
  if (keys.length > 1) return err(`holds ${String(keys.length)} private keys; which one is meant?`);
  if (isEncrypted(key)) {
    return err(
      "holds a key that is encrypted with a passphrase: nobody is there to type it; write the key without one",
    );
  }
  try {
    return ok(createPrivateKey(key.text));
  } catch (error) {
    return err(`holds a private key that cannot be read: ${messageOf(error)}`);
  }
}

const isEncrypted = ({ label, text }: Block): boolean =>
  label === "ENCRYPTED PRIVATE KEY" || /^Proc-Type:.*ENCRYPTED/m.test(text);

function whyNoKey(text: string, blocks: readonly Block[]): string {
  if (text.trim() === "") return "is empty";
  if (blocks.some(isCertificate)) return "holds a certificate and no private key: are cert and key swapped?";
  if (blocks.some(({ label }) => label.endsWith("PUBLIC KEY"))) return "holds a public key and no private one";
  return whyNoPem(text, blocks, "private key");
}
