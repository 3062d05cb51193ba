import { dirname, join } from "node:path";
import type { ServerConfig } from "../config/server.ts";
import { Door } from "../control/door.ts";
import type { Enrolment } from "../control/enrolment.ts";
import { millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import type { Listening, TlsMaterial } from "../platform/listen.ts";
import { isMissing } from "../platform/file-rights.ts";
import type { Logger } from "../platform/logger.ts";
import type { FollowedTls } from "../pki/follow.ts";
import { troubleWithClient } from "../pki/tls-words.ts";
import { followServerTls } from "./followed-tls.ts";
import { serverEnrolment } from "./server-enrolment.ts";

/** A client that cannot connect tries again and again; its reason is told once in so long. */
const SAME_TROUBLE_AFTER = millis(60_000);
const MOST_TROUBLES = 1000;

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The certificates of the control plane's port, and who may come in by them. */
export interface ServerTls {
  readonly door: Door;
  readonly enrolment: Enrolment;
  readonly material: TlsMaterial;
  readonly followed: FollowedTls;
  /** New files are used for connections that are made from then on; new lists act on open streams too. */
  serve(listening: Pick<Listening, "renewTls">): void;
}

/** Reads the files. Rejects with every problem at once when they cannot be used. */
export async function openServerTls(
  tls: NonNullable<ServerConfig["tls"]>,
  { clock, logger }: Surroundings,
): Promise<ServerTls> {
  // `cert revoke` writes it beside the authority.
  const files = { ...tls, crl: join(dirname(tls.ca), "crl.pem") };
  const followed = await followServerTls({ files, where: "tls", clock, logger });
  const dir = dirname(tls.ca);
  const door = new Door(clock, followed.current, async (certificate) => {
    if (await isMissing(join(dir, "ca-key.pem"))) {
      throw new Error(
        "it does not hold the authority's key: issue a new certificate with `llmgw ctl cert issue-client`, and replace the node's files",
      );
    }
    // Loaded late: its library is large, and few control planes hold the key.
    const { renewNode } = await import("../pki/renewal.ts");
    return renewNode(certificate, { dir, now: clock.now() });
  });
  const tellTrouble = clientTroubles({ clock, logger });
  const materialOf = ({ cert, key, ca }: FollowedTls["current"]) => ({ cert, key, ca });
  return {
    door,
    enrolment: serverEnrolment({ dir, followed, clock }),
    material: { ...materialOf(followed.current), onTrouble: tellTrouble },
    followed,
    serve(listening) {
      followed.onChange((texts) => {
        door.renew(texts);
        listening.renewTls(materialOf(texts));
      });
    },
  };
}

function clientTroubles({ clock, logger }: Surroundings): (error: Error, address: string) => void {
  const told = new Map<string, number>();
  return (error, address) => {
    const words = troubleWithClient(error);
    if (words === undefined) {
      logger.debug({ err: error, address }, "a TLS handshake failed");
      return;
    }
    const now = clock.monotonic();
    const last = told.get(`${address} ${words}`);
    if (last !== undefined && now - last < SAME_TROUBLE_AFTER) return;
    // Whoever knocks from thousands of addresses gets no memory for it.
    if (told.size >= MOST_TROUBLES) told.clear();
    told.set(`${address} ${words}`, now);
    logger.warn({ address }, `the client at ${address} ${words}`);
  };
}
