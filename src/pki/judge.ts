import type { X509Certificate } from "node:crypto";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { GrantedRole } from "../core/roles.ts";
import { type CertificateFacts, CLIENT_AUTH, factsOf, inWords, isGoodFor, keyHash } from "./certificate.ts";
import { type Path, pathToAuthority } from "./chain.ts";
import { nameEntry } from "./names.ts";
import { revocationKey, roleIn } from "./roles.ts";

/** What the one who judges knows. */
export interface Trust {
  readonly authorities: readonly X509Certificate[];
  /** Keys as `revocationKey` makes them. */
  readonly revoked: ReadonlySet<string>;
}

export interface Judging {
  /** The peer's own certificate first, then what it sent along. */
  readonly certificates: readonly X509Certificate[];
  readonly trust: Trust;
  readonly now: Millis;
}

/** Each says in a clause why the certificate is refused, or nothing. The first that speaks is the reason. */
type Rule = (facts: CertificateFacts, judging: Judging) => string | undefined;

/** What it is worth comes before whose it is. */
const COMMON_RULES: readonly Rule[] = [isForeign, isRevoked, comesTooEarly, hasEnded, isForOtherUse];

/** A certificate that is worth something. */
interface Judged {
  readonly certificate: X509Certificate;
  readonly facts: CertificateFacts;
  /** The way to its authority. */
  readonly path: Path;
}

/** Whether the peer is the node that it claims to be. The error is a whole clause for both sides' logs. */
export function judgeNode(claimedId: string, judging: Judging): Result<Judged, string> {
  return judge(judging, [
    ...COMMON_RULES,
    isOperators,
    (facts) => isOtherNode(facts, claimedId),
    (facts) => lacksTheId(facts, claimedId),
  ]);
}

/** What the peer may do, other than be a node, and the name that it goes by. */
export function judgeRole(judging: Judging): Result<{ readonly name: string; readonly role: GrantedRole }, string> {
  const judged = judge(judging, COMMON_RULES);
  if (!judged.ok) return judged;
  const { facts } = judged.value;
  const role = roleIn(facts.organizations);
  if (role === undefined) return err(refused(facts, "it carries no role, so it may be a node and nothing else"));
  return ok({ name: facts.commonName, role });
}

function judge(judging: Judging, rules: readonly Rule[]): Result<Judged, string> {
  const [certificate] = judging.certificates;
  if (certificate === undefined) return err("no certificate was shown, and this control plane asks for one");
  const facts = factsOf(certificate);
  for (const rule of rules) {
    const why = rule(facts, judging);
    if (why !== undefined) return err(refused(facts, why));
  }
  return ok({ certificate, facts, path: pathOf(judging) ?? [] });
}

const refused = (facts: CertificateFacts, why: string): string => `the certificate ${nameOf(facts)} is refused: ${why}`;

const nameOf = ({ commonName, serial }: CertificateFacts): string =>
  `${commonName === "" ? "without a common name" : `of ${commonName}`} (serial ${serial})`;

function isForeign(_: CertificateFacts, judging: Judging): string | undefined {
  const { certificates, trust, now } = judging;
  if (pathOf(judging) !== undefined) return undefined;
  const atAnyTime = pathToAuthority(certificates, trust.authorities, undefined);
  if (atAnyTime !== undefined) return authorityIsOut(atAnyTime, now);
  const issuer = oneLine(certificates[0]?.issuer);
  const known = trust.authorities.map(({ subject }) => oneLine(subject)).join("; ");
  return `it is not of an authority that this control plane trusts: it was issued by ${issuer}, and trusted is ${known}`;
}

function authorityIsOut(path: Path, now: Millis): string {
  const signers = path.slice(1).map(factsOf);
  const out = signers.find(({ notBefore, notAfter }) => now < notBefore || now > notAfter);
  const { commonName = "", notBefore = now, notAfter = now } = out ?? {};
  return `the authority ${commonName} that issued it is valid from ${inWords(notBefore)} to ${inWords(notAfter)}, and the control plane's clock says ${inWords(now)}`;
}

const oneLine = (name: string | undefined): string => name?.replaceAll("\n", ", ") ?? "nobody";

const pathOf = ({ certificates, trust, now }: Judging): Path | undefined =>
  pathToAuthority(certificates, trust.authorities, now);

function comesTooEarly({ notBefore }: CertificateFacts, { now }: Judging): string | undefined {
  if (now >= notBefore) return undefined;
  return `it is not valid before ${inWords(notBefore)}, and the control plane's clock says ${inWords(now)}`;
}

function hasEnded({ notAfter }: CertificateFacts, { now }: Judging): string | undefined {
  if (now <= notAfter) return undefined;
  return `it expired at ${inWords(notAfter)}, and the control plane's clock says ${inWords(now)}; issue a new one with \`llmgw ctl cert issue-client\``;
}

/** The authorities between it and the root may be revoked as well. */
function isRevoked(_: CertificateFacts, judging: Judging): string | undefined {
  const at = revocationKeys(pathOf(judging) ?? []).findIndex((key) => judging.trust.revoked.has(key));
  if (at === -1) return undefined;
  return at === 0 ? "it was revoked" : "the authority that issued it was revoked";
}

/** What a list of revoked certificates would have to hold to end this path. */
export const revocationKeys = (path: Path): readonly string[] =>
  path.slice(1).map((issuer, index) => revocationKey(keyHash(issuer), path[index]?.serialNumber ?? ""));

function isForOtherUse(facts: CertificateFacts): string | undefined {
  if (isGoodFor(facts, CLIENT_AUTH)) return undefined;
  return "its usage does not allow clients (extended key usage clientAuth is missing): it is a server's certificate";
}

/** Ids are compared exactly: on one side they are folder names, and Node-A and node-a may both exist. */
function isOtherNode({ commonName }: CertificateFacts, claimedId: string): string | undefined {
  if (commonName === claimedId) return undefined;
  const differsInCase = commonName.toLowerCase() === claimedId.toLowerCase();
  const hint = differsInCase ? "; ids are compared exactly, with upper and lower case" : "";
  return `it names ${commonName === "" ? "nobody" : commonName}, but the agent says that it is ${claimedId}${hint}`;
}

const isOperators: Rule = ({ organizations }) => {
  const role = roleIn(organizations);
  if (role === undefined) return undefined;
  return `it carries the ${role} role: it is ${role === "router" ? "a router's" : "an operator's"} certificate and no node's`;
};

function lacksTheId({ dnsNames, addresses }: CertificateFacts, claimedId: string): string | undefined {
  const entry = nameEntry(claimedId);
  const kind = entry.ok ? entry.value.kind : "dns";
  const wanted = entry.ok ? entry.value.value : claimedId.toLowerCase();
  if ((kind === "ip" ? addresses : dnsNames).includes(wanted)) return undefined;
  const has = [...dnsNames.map((name) => `DNS:${name}`), ...addresses.map((address) => `IP:${address}`)];
  const what = kind === "ip" ? "as an address" : "as a DNS name";
  const only = dnsNames.length === 0 && addresses.length > 0 ? "only addresses" : "only";
  return `it must carry the node's id ${claimedId} ${what} besides its common name, but its names are ${has.length === 0 ? "none" : `${only} ${has.join(", ")}`}`;
}
