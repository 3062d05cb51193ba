import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import type { AgentConfig } from "../config/agent.ts";
import { isOpenHttp } from "../config/server-address.ts";
import { readToken } from "../core/access-token.ts";
import type { NodeId } from "../core/ids.ts";
import { systemClock } from "../platform/clock.ts";
import { isMissing } from "../platform/file-rights.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";
import type { Logger } from "../platform/logger.ts";
import { factsOf } from "../pki/certificate.ts";
import type { FollowedTls } from "../pki/follow.ts";
import type { TlsFiles } from "../pki/material.ts";
import { enrol, WANTS_HTTPS } from "./enrol.ts";
import { followTls } from "./followed-tls.ts";

interface IdentityOptions {
  readonly config: Pick<AgentConfig, "tls" | "join_token" | "server">;
  /** Certificates that a join token brings are kept below it, unless `tls` names other files. */
  readonly workDir: string;
  readonly nodeId: NodeId;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a connection proves itself with. */
export interface Proof {
  readonly tls: FollowedTls | undefined;
  /** Of the authorization header. */
  readonly authorization: string | undefined;
}

type Listener = (tls: FollowedTls, files: TlsFiles) => void;

/** Who this node is to the control plane: by its certificate, by its join token, or by a certificate that the token brings. */
export class AgentIdentity {
  readonly #options: IdentityOptions;
  readonly #files: TlsFiles;
  readonly #listeners: Listener[] = [];
  #tls: FollowedTls | undefined;

  private constructor(options: IdentityOptions, files: TlsFiles) {
    this.#options = options;
    this.#files = files;
  }

  /** Says at the start, and not only with each failed connection, everything that is wrong with the certificates. */
  static async open(options: IdentityOptions): Promise<AgentIdentity> {
    const { config, workDir, logger } = options;
    const own = join(workDir, "pki");
    const files = config.tls ?? {
      ca: join(own, "ca.pem"),
      cert: join(own, "agent.pem"),
      key: join(own, "agent-key.pem"),
    };
    const identity = new AgentIdentity(options, files);
    // With a token, files that are not there yet are no fault: they come with the first connection.
    const isExpected = config.join_token !== undefined ? !(await isMissing(files.cert)) : config.tls !== undefined;
    if (isExpected) await identity.#load();
    for (const server of config.server.filter(isOpenHttp)) {
      logger.warn(
        `server: ${server} is plain http: anyone on the way can read along, and can pretend to be the control plane. \`llmgw agent join\` with an https address gets this node a certificate`,
      );
    }
    return identity;
  }

  /** Called with the certificates that there are, and with those that come. */
  whenCertified(listener: Listener): void {
    this.#listeners.push(listener);
    if (this.#tls !== undefined) listener(this.#tls, this.#files);
  }

  reload(): void {
    void this.#tls?.reload();
  }

  close(): void {
    this.#tls?.close();
  }

  /** What to show to that control plane. Rejects, in words, when there is nothing and the join token brings nothing. */
  async proofFor(server: string): Promise<Proof> {
    const { join_token: token } = this.#options.config;
    const authorization = token === undefined ? undefined : `Bearer ${token.split(".", 1)[0] ?? ""}`;
    if (server.startsWith("http:")) {
      // It would be read by everyone on the way.
      if (readToken(token ?? "")?.pin !== undefined) throw refused(WANTS_HTTPS);
      return { tls: undefined, authorization };
    }
    if (token === undefined || this.#isGood()) return { tls: this.#tls, authorization: undefined };
    const isCertified = await this.#enrol(server, token);
    return { tls: this.#tls, authorization: isCertified ? undefined : authorization };
  }

  /** A certificate that has ended is as good as none. */
  #isGood(): boolean {
    return this.#tls !== undefined && factsOf(this.#tls.current.certificate).notAfter > systemClock.now();
  }

  /** False: the control plane asks for no certificates. */
  async #enrol(server: string, text: string): Promise<boolean> {
    const { nodeId, env, logger } = this.#options;
    const token = readToken(text);
    if (token === undefined) throw refused("join_token is no join token: `llmgw ctl token create` makes one");
    const key = await this.#key();
    const ca = this.#files.ca === undefined ? undefined : await readTextIfThere(this.#files.ca);
    const enrolled = await enrol({ server, token, ca, env }, { node: nodeId, key, now: systemClock.now() });
    if (!enrolled.ok) {
      const { kind, reason } = enrolled.error;
      throw kind === "refused" ? refused(reason) : new ConnectError(reason, Code.Unavailable);
    }
    if (enrolled.value.kind === "token") return false;
    const { certificate, ca: authorities } = enrolled.value;
    if (authorities !== undefined && this.#files.ca !== undefined) await writeFileAtomic(this.#files.ca, authorities);
    await writeFileAtomic(this.#files.cert, certificate);
    logger.info(`the join token got ${nodeId} its certificate: ${this.#files.cert}`);
    await this.#load();
    return true;
  }

  /** Written before it is used: the same key may ask again when an answer was lost. */
  async #key(): Promise<string> {
    const there = await readTextIfThere(this.#files.key);
    if (there !== undefined) return there;
    const { newPrivateKey } = await import("../pki/signing-request.ts");
    const key = await newPrivateKey();
    await writeFileAtomic(this.#files.key, key, 0o600);
    return key;
  }

  async #load(): Promise<void> {
    if (this.#tls !== undefined) {
      await this.#tls.reload();
      return;
    }
    const { logger } = this.#options;
    const ca = this.#files.ca === undefined || (await this.#isOwnCaMissing()) ? {} : { ca: this.#files.ca };
    const files = { ...ca, cert: this.#files.cert, key: this.#files.key };
    this.#tls = await followTls({ files, where: "tls", clock: systemClock, logger });
    for (const listener of this.#listeners) listener(this.#tls, this.#files);
  }

  /** A control plane whose certificate the machine trusts anyway leaves none behind. A file that `tls` names must be there. */
  async #isOwnCaMissing(): Promise<boolean> {
    return this.#options.config.tls === undefined && this.#files.ca !== undefined && (await isMissing(this.#files.ca));
  }
}

const refused = (reason: string): ConnectError => new ConnectError(reason, Code.PermissionDenied);
