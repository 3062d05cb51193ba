import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { issuing, type Issuing } from "../../test/fakes/issuing.ts";
import { openssl, opensslVersion } from "../../test/fakes/openssl.ts";
import { readAuthorities, readCertificates, readChain, readKey } from "./pem.ts";

let ours: Issuing;
let cert: string;
let key: string;

beforeAll(async () => {
  ours = await issuing();
  ({ certificate: cert, key } = await ours.leaf("node-a"));
});

const problem = (read: { readonly ok: boolean; readonly error?: string }): string => read.error ?? "fine";
const encrypted = (type: "pkcs8" | "sec1"): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    type,
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  });

describe("certificates", () => {
  test.each<{ readonly name: string; readonly text: () => string; readonly why: RegExp }>([
    { name: "an empty file", text: () => " \n", why: /^is empty$/ },
    { name: "a key", text: () => key, why: /holds a private key and no certificate: are cert and key swapped/ },
    { name: "no PEM", text: () => "0\u0082\u0001", why: /^is no PEM text: it has no line -----BEGIN CERTIFICATE-----/ },
    { name: "a cut-off end", text: () => cert.slice(0, -30), why: /is cut off/ },
    {
      name: "a damaged middle",
      text: () => cert.replace(/\n[A-Za-z0-9+/]{20}/, "\nAAAAAAAAAAAAAAAAAAAA"),
      why: /cannot be read, number 1/,
    },
    {
      name: "another kind",
      text: () => cert.replaceAll("CERTIFICATE", "X509 CRL"),
      why: /block X509 CRL and no certificate/,
    },
  ])("$name", ({ text, why }) => {
    expect(problem(readCertificates(text()))).toMatch(why);
  });

  test("words around and Windows line ends do no harm", () => {
    expect(problem(readCertificates(`subject=node-a\n\n${cert}\nbye`.replaceAll("\n", "\r\n")))).toBe("fine");
  });

  test("a chain in the wrong order is named", () => {
    const text = `${ours.texts.certificate}${cert}`;
    expect(problem(readChain(text))).toMatch(
      /wrong order: number 2 \(node-a\) did not issue number 1 \(llmgw authority/,
    );
    expect(problem(readChain(`${cert}${ours.texts.certificate}`))).toBe("fine");
  });

  test("a node's certificate is no authority", () => {
    expect(problem(readAuthorities(cert))).toMatch(/holds the certificate of node-a, which is no authority/);
  });
});

describe("keys", () => {
  test.each<{ readonly name: string; readonly text: () => string; readonly why: RegExp }>([
    { name: "an empty file", text: () => "", why: /^is empty$/ },
    {
      name: "a certificate",
      text: () => cert,
      why: /holds a certificate and no private key: are cert and key swapped/,
    },
    { name: "an encrypted key", text: () => encrypted("pkcs8"), why: /encrypted with a passphrase/ },
    { name: "an encrypted key of the old form", text: () => encrypted("sec1"), why: /encrypted with a passphrase/ },
    { name: "two keys", text: () => key + key, why: /holds 2 private keys/ },
    { name: "a public key", text: () => key.replaceAll("PRIVATE", "PUBLIC"), why: /public key and no private one/ },
    {
      name: "a damaged key",
      text: () => key.replace(/\n.{10}/, "\nAAAAAAAAAA"),
      why: /private key that cannot be read/,
    },
  ])("$name", ({ text, why }) => {
    expect(problem(readKey(text()))).toMatch(why);
  });

  test.runIf(opensslVersion)("of openssl, in the old form with its parameters in front", () => {
    const text = openssl(["ecparam", "-name", "prime256v1", "-genkey"], "/");
    expect(text).toContain("EC PARAMETERS");
    expect(problem(readKey(text))).toBe("fine");
  });
});
