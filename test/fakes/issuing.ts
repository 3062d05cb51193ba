import { X509Certificate } from "node:crypto";
import { type Millis, millis } from "../../src/core/ids.ts";
import { type Authority, createAuthority, issue, type Issued, type Leaf, openAuthority } from "../../src/pki/make.ts";

export const DAY = 86_400_000;
export const NOW = millis(Date.UTC(2026, 10, 30, 12));

/** An authority of our own making, and what it issues. */
export interface Issuing {
  readonly texts: Issued;
  readonly authority: Authority;
  readonly certificate: X509Certificate;
  /** A node's certificate, unless the changes make it something else. */
  leaf(id: string, changes?: Partial<Leaf>): Promise<Issued & { readonly parsed: X509Certificate }>;
}

export async function issuing(now: Millis = NOW): Promise<Issuing> {
  const texts = await createAuthority({ now, lifetime: millis(3650 * DAY) });
  const opened = openAuthority(texts);
  if (!opened.ok) throw new Error(opened.error);
  const authority = opened.value;
  return {
    texts,
    authority,
    certificate: new X509Certificate(texts.certificate),
    async leaf(id, changes = {}) {
      const usual: Leaf = {
        commonName: id,
        organization: "llmgw:nodes",
        names: [{ kind: "dns", value: id }],
        usage: "client",
        now,
        lifetime: millis(365 * DAY),
      };
      const issued = await issue(authority, { ...usual, ...changes });
      return { ...issued, parsed: new X509Certificate(issued.certificate) };
    },
  };
}
