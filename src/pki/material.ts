import type { X509Certificate } from "node:crypto";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isMissing, modeForOthers } from "../platform/file-rights.ts";
import { factsOf, inWords } from "./certificate.ts";
import { readAuthorities, readChain, readKey } from "./pem.ts";
import { type Part, readPart } from "./read-part.ts";

/** Where one end of a connection has its certificates. */
export interface TlsFiles {
  /** Left out: the other end is not asked for a certificate of ours. */
  readonly ca?: string | undefined;
  readonly cert: string;
  readonly key: string;
  /** Revoked certificates. Left out, or not there: none. */
  readonly crl?: string;
}

/** All that the files hold, read at one time and found to fit together. */
export interface TlsTexts {
  /** "" when no authority was named. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly authorities: readonly X509Certificate[];
  readonly certificate: X509Certificate;
  /** As `revocationKey` names them. */
  readonly revoked: ReadonlySet<string>;
  /** Undefined: there is no such file. */
  readonly crl: string | undefined;
}

/**
 * Reads the files and checks each, and one against the other. The errors are whole sentences, all of them at once; a file is
 * called by its key with `prefix` in front, such as "tls." or "--".
 */
export async function readTlsFiles(files: TlsFiles, prefix: string): Promise<Result<TlsTexts, readonly string[]>> {
  const ca = files.ca === undefined ? NO_AUTHORITIES : await readOne(files.ca, `${prefix}ca`, readAuthorities);
  const cert = await readOne(files.cert, `${prefix}cert`, readChain);
  const key = await readOne(files.key, `${prefix}key`, readKey);
  const revoked = await revocationsIn(files.crl, ca.ok ? ca.value.value : undefined, `${prefix}crl`);
  const problems = [
    ...[ca, cert, key, revoked].flatMap((read) => (read.ok ? [] : [read.error])),
    ...(await rightsProblems(files.key, `${prefix}key`)),
  ];
  if (!ca.ok || !cert.ok || !key.ok || !revoked.ok) return err(problems);
  const certificate = cert.value.value[0];
  if (!certificate.checkPrivateKey(key.value.value)) {
    problems.push(`${prefix}key: ${files.key} does not belong to the certificate in ${files.cert}`);
  }
  if (problems.length > 0) return err(problems);
  const texts = { ca: ca.value.text, cert: cert.value.text, key: key.value.text };
  return ok({
    ...texts,
    authorities: ca.value.value,
    certificate,
    revoked: revoked.value.value,
    crl: revoked.value.text,
  });
}

type Both<T> = Result<Part<T>, string>;

const NO_AUTHORITIES: Both<readonly X509Certificate[]> = ok({ text: "", value: [] });

async function readOne<T>(path: string, where: string, parse: Parameters<typeof readPart<T>>[1]): Promise<Both<T>> {
  const read = await readPart(path, parse);
  return read.ok ? read : err(`${where}: ${read.error}`);
}

async function rightsProblems(path: string, where: string): Promise<readonly string[]> {
  const mode = await modeForOthers(path).catch(() => undefined);
  if (mode === undefined) return [];
  return [`${where}: ${path} may be read by others (mode ${mode}): run \`chmod 600 ${path}\``];
}

/** Against authorities that cannot be read nothing is checked: that problem is told already. */
async function revocationsIn(
  path: string | undefined,
  authorities: readonly X509Certificate[] | undefined,
  where: string,
): Promise<Result<{ readonly text?: string; readonly value: ReadonlySet<string> }, string>> {
  const none = ok({ value: new Set<string>() });
  if (path === undefined || authorities === undefined || (await isMissing(path))) return none;
  // Loaded late: most processes have no such list, and its reader is large.
  const { readRevocations } = await import("./revocations.ts");
  return readOne(path, where, (text) => readRevocations(text, authorities));
}

/** What about the own certificate will make others refuse it; undefined when nothing does. */
export function ownTrouble({ certificate }: Pick<TlsTexts, "certificate">, now: Millis): string | undefined {
  const { commonName, notBefore, notAfter } = factsOf(certificate);
  const clock = `this machine's clock says ${inWords(now)}`;
  if (now < notBefore) {
    return `the certificate of ${commonName} is not valid before ${inWords(notBefore)}, and ${clock}: is the clock right?`;
  }
  if (now <= notAfter) return undefined;
  return `the certificate of ${commonName} expired at ${inWords(notAfter)}, and ${clock}: issue a new one with \`llmgw ctl cert\``;
}
