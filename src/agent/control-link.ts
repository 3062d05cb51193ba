import { ConnectError, type Transport } from "@connectrpc/connect";
import { formatDuration } from "../core/format.ts";
import { canonicalJson } from "../core/fingerprint.ts";
import { type Millis, millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { afterConnection, type BackoffPolicy } from "../reconcile/backoff.ts";
import { isRefusal, Session, type SessionEnd, type SessionNode } from "./session.ts";

/** A connection of its own for each try: one that went silent is never used again. */
export interface Dialled {
  readonly transport: Transport;
  close(): void;
}

export interface ControlLinkOptions {
  /** Tried one after the other; never empty. */
  readonly servers: readonly string[];
  /** Rejects with a code of a refusal when the control plane will not have the node. */
  readonly dial: (server: string) => Promise<Dialled>;
  readonly node: SessionNode;
  readonly backoff: BackoffPolicy;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** So long changes are gathered before they are told, since one seldom comes alone. */
const GATHER_FOR = millis(100);

/** Keeps one stream to a control plane open for as long as the agent lives, and tells it what changed. */
export class ControlLink {
  readonly #options: ControlLinkOptions;
  readonly #leaving = new AbortController();
  #session: Session | undefined;
  #isConnected = false;
  #losses = 0;
  /** What the control plane knows of the node. */
  #told = { inventory: "", observed: "", sharing: "" };
  #isTelling = false;

  constructor(options: ControlLinkOptions) {
    this.#options = options;
  }

  /** Whether the control plane has accepted this node on the present stream. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  get losses(): number {
    return this.#losses;
  }

  /** Something about the node changed. What is told is how it is then, and only if it differs from what was told. */
  changed(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#options.clock.after(GATHER_FOR, () => {
      this.#isTelling = false;
      this.#tell();
    });
  }

  /** What a connection is made with has changed: opens a new one, with no wait between, if there is one. */
  renew(): void {
    this.#session?.renew();
  }

  /** Asks for a new certificate. False: there is no connection to ask on. */
  requestCertificate(): boolean {
    this.#session?.requestCertificate();
    return this.#session !== undefined;
  }

  /** Says goodbye; `run` resolves after it. */
  leave(): void {
    this.#leaving.abort();
  }

  async run(): Promise<void> {
    const { servers, clock, backoff, random } = this.#options;
    let losses = 0;
    for (let attempt = 0; !this.#leaving.signal.aborted; attempt++) {
      const server = servers[attempt % servers.length] ?? "";
      const end = await this.#connect(server);
      if (end.kind === "left") return;
      if (end.kind === "renewed") {
        // The same server again.
        attempt -= 1;
        continue;
      }
      this.#losses += 1;
      const next = afterConnection(losses, { ...end, refused: end.kind === "refused" }, { policy: backoff, random });
      losses = next.losses;
      this.#complain(server, end, next.delay);
      await pause(clock, next.delay, this.#leaving.signal);
    }
  }

  async #connect(server: string): Promise<SessionEnd> {
    const { dial, node, clock, logger } = this.#options;
    const connection = await dial(server).catch(endOfDial);
    if ("kind" in connection) return connection;
    const session = new Session({
      transport: connection.transport,
      node: {
        ...node,
        inventory: () => this.#toldInventory(),
        observed: () => this.#toldObserved(),
      },
      onWelcome: ({ id, version }) => {
        this.#session = session;
        this.#isConnected = true;
        // It comes with no hello, so this control plane has not heard of it yet.
        this.#told = { ...this.#told, sharing: "" };
        logger.info(`connected to ${server} (${id}, version ${version})`);
        this.#tell();
      },
      clock,
      signal: this.#leaving.signal,
    });
    try {
      return await session.run();
    } finally {
      this.#session = undefined;
      this.#isConnected = false;
      node.sharing?.onLoss();
      connection.close();
    }
  }

  #tell(): void {
    if (this.#session === undefined) return;
    const before = this.#told;
    const [inventory, observed] = [this.#toldInventory(), this.#toldObserved()];
    if (this.#told.inventory !== before.inventory) this.#session.sendInventory(inventory);
    if (this.#told.observed !== before.observed) this.#session.sendObserved(observed);
    this.#tellSharing(this.#session);
  }

  #tellSharing(session: Session): void {
    const report = this.#options.node.sharing?.report();
    const text = report === undefined ? "" : canonicalJson(report);
    if (report === undefined || text === this.#told.sharing) return;
    this.#told = { ...this.#told, sharing: text };
    session.sendSharing(report);
  }

  #toldInventory(): ReturnType<SessionNode["inventory"]> {
    const inventory = this.#options.node.inventory();
    this.#told = { ...this.#told, inventory: canonicalJson(inventory) };
    return inventory;
  }

  #toldObserved(): ReturnType<SessionNode["observed"]> {
    const observed = this.#options.node.observed();
    this.#told = { ...this.#told, observed: canonicalJson(observed) };
    return observed;
  }

  #complain(server: string, end: Exclude<SessionEnd, { kind: "left" | "renewed" }>, delay: Millis): void {
    const what = end.kind === "refused" ? "refuses this node" : end.heldFor > 0 ? "was lost" : "cannot be reached";
    const again = formatDuration(delay);
    this.#options.logger.warn(
      `the control plane ${server} ${what}: ${end.reason}; engines serve on, next try in ${again}`,
    );
  }
}

function endOfDial(error: unknown): Extract<SessionEnd, { kind: "refused" | "lost" }> {
  const { code, rawMessage: reason } = ConnectError.from(error);
  return { kind: isRefusal(code) ? "refused" : "lost", reason, heldFor: millis(0) };
}
