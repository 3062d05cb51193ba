import { join } from "node:path";
import type { Enrolment } from "../control/enrolment.ts";
import type { Millis } from "../core/ids.ts";
import { ok } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import { isMissing } from "../platform/file-rights.ts";
import { authorityPin } from "../pki/certificate.ts";
import { pathToAuthority } from "../pki/chain.ts";
import type { FollowedTls } from "../pki/follow.ts";
import { readChain } from "../pki/pem.ts";

interface Signing {
  /** Holds the authority, with its key when nodes may join by a token. */
  readonly dir: string;
  readonly followed: Pick<FollowedTls, "current">;
  readonly clock: Pick<Clock, "now">;
}

/** Signs with the authority beside `tls.ca`. The library behind it is large, and loaded when a node joins. */
export function serverEnrolment({ dir, followed, clock }: Signing): Enrolment {
  return {
    authorities: () => followed.current.authorities.map(String).join(""),
    pin: () => pinOf(followed.current, clock.now()),
    async obstacle() {
      if (await isMissing(join(dir, "ca-key.pem"))) {
        return `the control plane does not hold the authority's key, so it cannot sign certificates for nodes: put ca-key.pem into ${dir}, or issue them by hand with \`llmgw ctl cert issue-client\``;
      }
      const { canSign } = await import("../pki/enrol-node.ts");
      const able = await canSign(dir);
      return able.ok ? undefined : able.error;
    },
    async keyOf(node, request) {
      const { requestedKey } = await import("../pki/enrol-node.ts");
      const read = await requestedKey(node, request);
      return read.ok ? ok(read.value.hash) : read;
    },
    async revoke(node) {
      const { revokeNode } = await import("../pki/revoke-node.ts");
      return revokeNode(node, { dir, now: clock.now() });
    },
    async sign(node, request) {
      const { enrolNode } = await import("../pki/enrol-node.ts");
      return enrolNode(node, request, { dir, now: clock.now() });
    },
  };
}

/** Undefined: the certificate comes from an authority that is trusted otherwise, such as a public one. */
function pinOf({ cert, authorities }: FollowedTls["current"], now: Millis): string | undefined {
  const chain = readChain(cert);
  const path = chain.ok ? pathToAuthority(chain.value, authorities, now) : undefined;
  const root = path?.at(-1);
  return root === undefined ? undefined : authorityPin(root);
}
