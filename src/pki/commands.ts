import { X509Certificate } from "node:crypto";
import { LlmgwError } from "../core/errors.ts";
import { isNodeName, type Millis, millis } from "../core/ids.ts";
import type { GrantedRole } from "../core/roles.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";
import {
  filesOf,
  holdingFolder,
  loadAuthority,
  pairFiles,
  refuseOverwriting,
  writeIssued,
  writePair,
  readIssued,
} from "./authority-folder.ts";
import { factsOf, plainSerial } from "./certificate.ts";
import type { IssuedEntry, Role } from "./issued.ts";
import { type Authority, createAuthority, issue, type Leaf, signRevocations } from "./make.ts";
import { canonicalAddress, type NameEntry, nameEntries } from "./names.ts";
import { readCertificates } from "./pem.ts";
import { NODES, ORGANIZATION_OF } from "./roles.ts";

const DAY_MS = 86_400_000;

/** What X.520 allows a common name to have; openssl refuses longer ones. */
const LONGEST_COMMON_NAME = 64;

export interface Making {
  readonly dir: string;
  readonly days: number;
  /** Writes over files that are there. */
  readonly force: boolean;
  readonly now: Millis;
}

/** Files that were written. */
export interface Made {
  readonly entry: IssuedEntry;
  readonly certificate: string;
  readonly key: string;
}

/** Makes `ca.pem` and `ca-key.pem`. */
export async function initAuthority(making: Making): Promise<Made> {
  const { dir, now } = making;
  const files = filesOf(dir);
  return holdingFolder(dir, async () => {
    if (!making.force) await refuseOverwriting([files.certificate, files.key]);
    const made = await createAuthority({ now, lifetime: lifetimeOf(making) });
    await writePair(files, made);
    // What an authority before it has revoked is of no use with the new key.
    const authority = await loadAuthority(dir);
    await writeFileAtomic(files.revoked, await signRevocations(authority, { revocations: [], now }));
    const entry = entryOf({ name: "ca", role: "unknown" }, made.certificate);
    return { entry, certificate: files.certificate, key: files.key };
  });
}

/** A certificate for servers under all of these names and addresses, and for this machine's own. */
export async function issueServer(names: readonly string[], making: Making): Promise<Made> {
  const entries = nameEntries([...names, "localhost", "127.0.0.1", "::1"]);
  if (!entries.ok) throw new LlmgwError("BAD_REQUEST", `${entries.error.join("\n")}.`);
  const [first] = entries.value;
  if (first === undefined) throw new LlmgwError("BAD_REQUEST", "A server's certificate needs a name.");
  const commonName = first.value.length <= LONGEST_COMMON_NAME ? first.value : "llmgw server";
  const name = first.value.replaceAll(":", "-").replace("*", "wildcard");
  return makeLeaf({ name, role: "server" }, making, { commonName, names: entries.value, usage: "server" });
}

/** A certificate for a node, or for a person or program with a role. */
export async function issueClient(
  { id, role }: { readonly id: string; readonly role: GrantedRole | "node" },
  making: Making,
): Promise<Made> {
  const problem = idProblem(id);
  if (problem !== undefined) throw new LlmgwError("BAD_REQUEST", problem);
  const organization = role === "node" ? NODES : ORGANIZATION_OF[role];
  return makeLeaf({ name: id, role }, making, { commonName: id, organization, names: [idEntry(id)], usage: "client" });
}

/** The id as it is: upper and lower case are the id's own, although a DNS name has neither. */
export function idEntry(id: string): NameEntry {
  const address = canonicalAddress(id);
  return address === undefined ? { kind: "dns", value: id } : { kind: "ip", value: address };
}

/** Why a node cannot have this id in a certificate; undefined: it can. */
export function idProblem(id: string): string | undefined {
  const shown = JSON.stringify(id);
  if (!isNodeName(id) || !/[A-Za-z0-9]$/.test(id)) {
    return `${shown} is no id of a node: letters, digits, dots, hyphens and underscores, a letter or digit first and last.`;
  }
  if (id.length <= LONGEST_COMMON_NAME) return undefined;
  return `${shown} has ${String(id.length)} characters, and a certificate's common name has at most ${String(LONGEST_COMMON_NAME)}: give the node a shorter node_id.`;
}

/** Names whose files would be another's. */
const isReserved = (name: string): boolean => ["ca", "crl"].includes(name.toLowerCase()) || /-key$/i.test(name);

async function makeLeaf(
  { name, role }: { readonly name: string; readonly role: Role },
  making: Making,
  leaf: Pick<Leaf, "commonName" | "organization" | "names" | "usage">,
): Promise<Made> {
  const { dir, force, now } = making;
  if (isReserved(name)) {
    throw new LlmgwError(
      "BAD_REQUEST",
      `"${name}" cannot be a certificate's name: ${name}.pem is a file of the authority's own.`,
    );
  }
  const files = pairFiles(dir, name);
  return holdingFolder(dir, async () => {
    const authority = await loadAuthority(dir);
    if (!force) await refuseOverwriting([files.certificate, files.key]);
    const issued = await issue(authority, { ...leaf, now, lifetime: lifetimeOf(making) });
    const entry = entryOf({ name, role }, issued.certificate);
    // Listed before it is there: a certificate that is in no list could never be revoked by its name.
    await writeIssued(dir, [...(await readIssued(dir)), entry]);
    await writePair(files, issued);
    return { entry, ...files };
  });
}

const lifetimeOf = ({ days }: Making): Millis => millis(days * DAY_MS);

/** What is remembered of a certificate. */
export function entryOf({ name, role }: Pick<IssuedEntry, "name" | "role">, pem: string): IssuedEntry {
  const { serial, dnsNames, addresses, notBefore, notAfter } = factsOf(new X509Certificate(pem));
  return { name, role, serial, names: [...dnsNames, ...addresses], notBefore, notAfter, revokedAt: undefined };
}

/** Everything that the folder's authority has issued; says in words when there is no authority. */
export async function listIssued(dir: string): Promise<readonly IssuedEntry[]> {
  await loadAuthority(dir);
  return readIssued(dir);
}

/**
 * Revokes a certificate by its serial number, or all of a name: with several of one name nobody knows which of them was
 * stolen. Resolves with those that were not revoked before.
 */
export async function revoke(
  nameOrSerial: string,
  { dir, now }: Pick<Making, "dir" | "now">,
): Promise<readonly IssuedEntry[]> {
  return holdingFolder(dir, async () => {
    const authority = await loadAuthority(dir);
    const known = await readIssued(dir);
    const meant = await entriesMeant(nameOrSerial, { dir, known });
    const news = meant.filter(({ revokedAt }) => revokedAt === undefined);
    return markRevoked(news, { dir, now, authority, known });
  });
}

/** Writes them down as revoked and puts them on the list. The folder is held. */
export async function markRevoked(
  news: readonly IssuedEntry[],
  { dir, now, authority, known }: Pick<Making, "dir" | "now"> & { authority: Authority; known: readonly IssuedEntry[] },
): Promise<readonly IssuedEntry[]> {
  const revoked = news.map((entry) => ({ ...entry, revokedAt: now }));
  const serials = new Set(news.map(({ serial }) => serial));
  const after = [...known.filter(({ serial }) => !serials.has(serial)), ...revoked];
  await writeIssued(dir, after);
  await writeRevocations(dir, authority, { entries: after, now });
  return revoked;
}

async function writeRevocations(
  dir: string,
  authority: Authority,
  { entries, now }: { readonly entries: readonly IssuedEntry[]; readonly now: Millis },
): Promise<void> {
  const revocations = entries.flatMap(({ serial, revokedAt }) =>
    revokedAt === undefined ? [] : [{ serial, at: revokedAt }],
  );
  await writeFileAtomic(filesOf(dir).revoked, await signRevocations(authority, { revocations, now }));
}

async function entriesMeant(
  nameOrSerial: string,
  { dir, known }: { readonly dir: string; readonly known: readonly IssuedEntry[] },
): Promise<readonly IssuedEntry[]> {
  const named = known.filter(({ name }) => name === nameOrSerial);
  if (named.length > 0) return named;
  const serial = plainSerial(nameOrSerial);
  const numbered = known.filter((entry) => entry.serial === serial);
  if (numbered.length > 0) return numbered;
  const text =
    isNodeName(nameOrSerial) && !isReserved(nameOrSerial)
      ? await readTextIfThere(pairFiles(dir, nameOrSerial).certificate)
      : undefined;
  const [certificate] = text === undefined ? [] : certificatesIn(text);
  if (certificate !== undefined) return [entryOf({ name: nameOrSerial, role: "unknown" }, certificate.toString())];
  // A certificate of this authority that another program made: its number is all that a list needs.
  if (/^[0-9A-F]{8,40}$/.test(serial)) return [unlisted(serial)];
  throw new LlmgwError(
    "NOT_FOUND",
    `No certificate in ${dir} has the name or serial number "${nameOrSerial}": \`llmgw ctl cert list --dir ${dir}\` shows all.`,
  );
}

function certificatesIn(text: string): readonly X509Certificate[] {
  const read = readCertificates(text);
  return read.ok ? read.value : [];
}

const unlisted = (serial: string): IssuedEntry => ({
  name: "",
  role: "unknown",
  serial,
  names: [],
  notBefore: millis(0),
  notAfter: millis(0),
  revokedAt: undefined,
});
