import type { X509Certificate } from "node:crypto";
import type { NodeId } from "../../../core/ids.ts";
import { ok, type Result } from "../../../core/result.ts";
import type { SharedFile, SharingPlan, SharingReport } from "../../../core/sharing.ts";
import type { FollowedTls } from "../../../pki/follow.ts";
import { judgeNode } from "../../../pki/judge.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Downloader } from "../../../platform/fetch/download.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { PeerTls } from "../../../platform/peer-http.ts";
import type { WeightFailure } from "../failure.ts";
import type { RecordBook } from "../folder.ts";
import type { FetchedWeights } from "../sources/source.ts";
import { peerDoor } from "./door.ts";
import { Exchange } from "./exchange.ts";
import { fetchShared, type SharedJob } from "./fetch-shared.ts";
import { Guests } from "./guests.ts";
import { type PeerAddress, PeerPort } from "./peer-port.ts";
import { Shelf } from "./shelf.ts";

export interface PeersOptions {
  readonly node: NodeId;
  /** The weights folder: nothing else is given to anyone. */
  readonly dir: string;
  readonly records: RecordBook;
  readonly downloader: Pick<Downloader, "gather" | "open">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly isConnected: () => boolean;
  /** There is something new to tell the control plane. */
  readonly changed: () => void;
  /** Files whose bytes are said, or were seen, to be wrong. */
  readonly onSuspects: (keys: readonly string[]) => void;
}

/** This node's part in the sharing of weights: what it gives to other nodes and what it gets from them. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #shelf: Shelf;
  readonly #exchange: Exchange;
  readonly #port: PeerPort;
  readonly #running = new Map<string, Promise<void>>();
  #address: PeerAddress | undefined;
  #tls: FollowedTls | undefined;
  #isClosed = false;

  constructor(options: PeersOptions) {
    this.#options = options;
    const { dir, records, downloader, clock, logger } = options;
    const guests = new Guests();
    this.#shelf = new Shelf({ dir, records, downloader });
    this.#exchange = new Exchange({
      ...{ clock, isConnected: options.isConnected, changed: options.changed, onSuspects: options.onSuspects },
      onPermissions: (permissions, now) => {
        guests.permit(permissions, now);
      },
    });
    const handler = peerDoor({
      ...{ guests, shelf: this.#shelf, clock, logger },
      judge: (node, certificates) => this.#judge(node, certificates),
      onWrong: (key) => {
        options.onSuspects([key]);
      },
    });
    this.#port = new PeerPort({
      ...{ handler, logger },
      onOpen: (open) => {
        this.#exchange.serveOn(open);
      },
    });
  }

  report(): SharingReport {
    return this.#exchange.report();
  }

  onPlan(plan: SharingPlan): void {
    this.#exchange.take(plan);
  }

  /** The connection to the control plane is gone. */
  onLoss(): void {
    this.#exchange.forget();
  }

  get bytes(): { readonly origin: number; readonly peer: number } {
    return this.#exchange.bytes;
  }

  /** Where others are to reach it; undefined: nowhere. */
  listenAt(address: PeerAddress | undefined): void {
    this.#address = address;
    this.#renewPort();
  }

  /** The node's certificate: from now on it is shown to others, and theirs is asked for. */
  useTls(tls: FollowedTls): void {
    this.#tls = tls;
    tls.onChange(() => {
      this.#renewPort();
    });
    this.#renewPort();
  }

  /** A file of this node has wrong bytes, and is out of use. */
  async lost(key: string): Promise<void> {
    this.#exchange.found({ node: this.#options.node, key });
    await this.refresh();
  }

  /** What this node has for others. */
  held(): Promise<readonly SharedFile[]> {
    return this.#shelf.held();
  }

  /** Looks again at what this node has for others. */
  async refresh(): Promise<void> {
    this.#exchange.hold(await this.#shelf.offered());
  }

  /** One at a time fetches a file: a model has several names, and a file has one. */
  async fetch(job: SharedJob): Promise<Result<FetchedWeights, WeightFailure>> {
    const before = this.#running.get(job.key);
    const running = before === undefined ? this.#fetch(job) : before.then(() => this.#fetchUnlessHeld(job));
    const ended = running.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(job.key, ended);
    try {
      return await running;
    } finally {
      if (this.#running.get(job.key) === ended) this.#running.delete(job.key);
    }
  }

  async #fetchUnlessHeld(job: SharedJob): Promise<Result<FetchedWeights, WeightFailure>> {
    const held = (await this.#shelf.held()).find(({ key }) => key === job.key);
    const wanted = job.request.sha256?.toLowerCase() ?? held?.sha256;
    return held !== undefined && held.sha256 === wanted ? ok(held) : await this.#fetch(job);
  }

  async #fetch(job: SharedJob): Promise<Result<FetchedWeights, WeightFailure>> {
    const { node, downloader, clock, random, logger } = this.#options;
    const visiting = { node, tls: (peer: string) => this.#tlsTo(peer) };
    const refresh = (): Promise<void> => this.refresh();
    return await fetchShared({ exchange: this.#exchange, visiting, refresh, downloader, clock, random, logger }, job);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#exchange.close();
    await this.#port.close();
  }

  #renewPort(): void {
    if (this.#isClosed) return;
    const address = this.#address;
    const texts = this.#tls?.current;
    // Without an authority nobody's certificate could be judged.
    const isBlind = texts !== undefined && texts.authorities.length === 0;
    const tls = texts === undefined ? undefined : { cert: texts.cert, key: texts.key, ca: texts.ca };
    this.#port.use(address === undefined || isBlind ? undefined : { address, tls });
  }

  /** Why the certificates are not those of the node; undefined: they are. */
  #judge(node: string, certificates: readonly X509Certificate[]): string | undefined {
    const texts = this.#tls?.current;
    if (texts === undefined) return "this node has no certificate";
    const { authorities, revoked } = texts;
    const judged = judgeNode(node, { certificates, trust: { authorities, revoked }, now: this.#options.clock.now() });
    return judged.ok ? undefined : judged.error;
  }

  #tlsTo(peer: string): PeerTls | undefined {
    const texts = this.#tls?.current;
    if (texts === undefined) return undefined;
    return { cert: texts.cert, key: texts.key, judge: (certificates) => this.#judge(peer, certificates) };
  }
}
