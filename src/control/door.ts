import { Code, ConnectError } from "@connectrpc/connect";
import type { X509Certificate } from "node:crypto";
import { type Millis, millis, type NodeId } from "../core/ids.ts";
import type { Result } from "../core/result.ts";
import type { GrantedRole } from "../core/roles.ts";
import type { Clock } from "../platform/clock.ts";
import { inWords } from "../pki/certificate.ts";
import { judgeNode, type Judging, judgeRole, revocationKeys, type Trust } from "../pki/judge.ts";
import type { Peer } from "./peer.ts";

/** So long after its certificate has ended an open stream goes on: clocks differ, and a renewal may be on its way. */
export const EXPIRED_GRACE = millis(60_000);

/** Of a stream that was let in. */
export interface Admission {
  /** What the node showed. */
  readonly certificate: X509Certificate;
  /** Why it must end now; undefined: it may go on. Cheap enough to ask often. */
  refusal(): ConnectError | undefined;
}

/** Gives a node a new certificate for its key, in PEM. Rejects, in words for the agent, when it cannot. */
export type Renew = (certificate: X509Certificate) => Promise<string>;

/** Judges certificates by the authorities and the list of revoked ones that are in force now. */
export class Door {
  /** Of certificates whose owners were let in. */
  readonly renewCertificate: Renew;
  readonly #clock: Clock;
  #trust: Trust;

  constructor(clock: Clock, trust: Trust, renewCertificate: Renew) {
    this.#clock = clock;
    this.#trust = trust;
    this.renewCertificate = renewCertificate;
  }

  /** Puts other authorities and another list in force, for streams that are open too. */
  renew(trust: Trust): void {
    this.#trust = trust;
  }

  /** Lets the peer in as that node, or throws the refusal in words. */
  admitNode(peer: Peer, node: NodeId): Admission {
    const { certificate, facts, path } = this.#require(peer, (judging) => judgeNode(node, judging));
    const keys = revocationKeys(path);
    const { notAfter } = facts;
    return {
      certificate,
      refusal: () => {
        if (keys.some((key) => this.#trust.revoked.has(key))) return denied(`the certificate of ${node} was revoked`);
        const now = this.#clock.now();
        return now > notAfter + EXPIRED_GRACE ? denied(endedMeanwhile(node, notAfter, now)) : undefined;
      },
    };
  }

  /** Whose certificate the peer shows and what its owner may do; throws the refusal in words. */
  roleOf(peer: Peer): { readonly name: string; readonly role: GrantedRole } {
    return this.#require(peer, judgeRole);
  }

  #require<T>(peer: Peer, judge: (judging: Judging) => Result<T, string>): T {
    if (peer.kind !== "tls" || peer.certificates.length === 0) {
      throw new ConnectError(
        "this control plane takes only nodes with a certificate, and none was shown: set tls: in agent.yaml",
        Code.Unauthenticated,
      );
    }
    const { certificates, problem } = peer;
    const judged = judge({ certificates, trust: this.#trust, now: this.#clock.now() });
    if (!judged.ok) throw denied(judged.error);
    // The library sees what we do not look at, such as constraints on names.
    if (problem !== undefined) throw denied(`the certificate is refused by the TLS library: ${problem}`);
    return judged.value;
  }
}

const denied = (why: string): ConnectError => new ConnectError(why, Code.PermissionDenied);

const endedMeanwhile = (node: NodeId, notAfter: Millis, now: Millis): string =>
  `the certificate of ${node} expired at ${inWords(notAfter)} while the stream was open, and the control plane's clock says ${inWords(now)}`;
