import { join } from "node:path";
import type { DesiredReplica } from "../core/desired.ts";
import { type Millis, millis } from "../core/ids.ts";
import { certificateSha256 } from "../platform/pinned-tls.ts";
import { nameEntry } from "../pki/names.ts";
import { canBeAsked } from "./engine-probe.ts";
import type { NodeContext, Prepared } from "./node-context.ts";

/** What one start of an engine answers with, and how it is known by that. */
export interface EngineTls {
  readonly certFile: string;
  readonly keyFile: string;
  readonly tlsSha256: string;
}

/** Nobody looks at its end: it is known by what it is, and an engine may run for as long as its machine. */
const LIFETIME = millis(10 * 365 * 86_400_000);

/** Why the build cannot do what the node asks of its engines, in words; undefined: it can, or is not asked to. */
export function tlsTrouble(
  { engine, build }: Prepared,
  { engineTls }: Pick<NodeContext, "engineTls">,
): string | undefined {
  const why = engineTls ? engine.withoutTls?.(build.version) : undefined;
  return why === undefined ? undefined : `${why}, or set engine_tls to false on this node`;
}

interface Start {
  readonly replica: DesiredReplica;
  readonly prepared: Prepared;
  /** The replica's own. */
  readonly folder: string;
  readonly host: string;
}

/**
 * A key and a certificate for this start alone, in the replica's folder: what leaked of an earlier one is worth nothing.
 * Undefined: the node asks for no TLS, or nobody asks this rank anything.
 */
export async function engineTls(start: Start, node: NodeContext): Promise<EngineTls | undefined> {
  const { replica, prepared, folder, host } = start;
  if (!node.engineTls || !canBeAsked({ engine: prepared.engine, record: { replica } })) return undefined;
  const made = await makeCertificate(host, node.clock.now());
  const place = join(folder, "tls");
  const [certFile, keyFile] = [join(place, "engine.pem"), join(place, "engine-key.pem")];
  await node.machine.makePrivateFolder(place);
  await node.machine.writeFile(keyFile, made.key, 0o600);
  await node.machine.writeFile(certFile, made.certificate, 0o600);
  return { certFile, keyFile, tlsSha256: certificateSha256(made.der) };
}

/** With the names by which an engine calls itself, for those that check what they are told to answer with. */
async function makeCertificate(host: string, now: Millis) {
  // Loaded late: the library is large, and most agents make no certificates.
  const { createSelfSigned } = await import("../pki/self-signed.ts");
  const entries = [...new Set([host, "127.0.0.1", "localhost"])].map(nameEntry);
  const names = entries.flatMap((entry) => (entry.ok ? [entry.value] : []));
  return createSelfSigned({ commonName: "llmgw engine", names, now, lifetime: LIFETIME });
}
