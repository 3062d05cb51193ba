import { messageOf } from "../../../core/errors.ts";
import { type Millis, millis, type NodeId, plus } from "../../../core/ids.ts";
import { pieceCount, pieceRange } from "../../../core/pieces.ts";
import type { SharingOrder, SharingSource } from "../../../core/sharing.ts";
import { type Clock, pause } from "../../../platform/clock.ts";
import type { FetchedFile } from "../../../platform/fetch/fetch-file.ts";
import type { FetchFailure } from "../../../platform/fetch/failure.ts";
import type { Downloader } from "../../../platform/fetch/download.ts";
import type { Gathering } from "../../../platform/fetch/gather.ts";
import type { Logger } from "../../../platform/logger.ts";
import { nextPiece } from "../../../reconcile/next-piece.ts";
import { PieceBook } from "./piece-book.ts";
import { type PeerVisit, PeerTrouble, visitPeer, type Visiting } from "./visit.ts";

export interface GatherContext {
  readonly downloader: Pick<Downloader, "gather">;
  readonly visiting: Visiting;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface GatherJob {
  readonly key: string;
  readonly target: string;
  /** 0: not known. */
  readonly bytes: number;
  /** Hex; undefined: the peers' word has to do. */
  readonly sha256: string | undefined;
  /** Permissions of earlier rounds were used by an earlier try. */
  readonly round: number;
  /** Nodes that gave wrong bytes to an earlier try. */
  readonly wrong: readonly NodeId[];
  readonly order: () => SharingOrder | undefined;
  readonly isConnected: () => boolean;
  readonly onNews: (news: GatherNews) => void;
  readonly onWrong: (node: NodeId) => void;
  readonly signal: AbortSignal;
}

export interface GatherNews {
  /** Bytes of the whole that are here. */
  readonly done: number;
  readonly total: number;
  /** Bytes of a piece that has just come. */
  readonly came: number;
  readonly from: readonly NodeId[];
  readonly wrong: readonly NodeId[];
  readonly unreachable: readonly NodeId[];
  /** Grows when new permissions are wanted. */
  readonly round: number;
}

export type GatherEnd =
  | { readonly kind: "done"; readonly file: FetchedFile }
  /** The source is the way to go on; why, when it is not the control plane's word. */
  | { readonly kind: "origin"; readonly why: string | undefined }
  | { readonly kind: "failed"; readonly failure: FetchFailure };

const FROM_ONE_PEER = 2;
/** Pieces at once, each held in memory until it is on the disk. */
const AT_ONCE = 6;
/** Visits that come to nothing before a node is said to be out of reach. */
const SHUT_AFTER = 2;
const LOOK_EVERY = millis(250);
const TRY_AGAIN_AFTER = millis(1_000);
const FIRST_ROUND_AFTER = millis(2_000);
const LAST_ROUND_AFTER = millis(30_000);
/** Without new bytes anywhere for so long, nobody is waited for any more. */
const PATIENCE = millis(120_000);
/** The same while no control plane is connected that could send somebody. */
const ALONE_PATIENCE = millis(30_000);

/** Puts a file together from what other nodes have of it, for as long as that gets on. */
export async function gatherFile(context: GatherContext, job: GatherJob): Promise<GatherEnd> {
  const gatherer = new Gatherer(context, job);
  try {
    return await gatherer.run();
  } finally {
    await gatherer.close();
  }
}

class Gatherer {
  readonly #context: GatherContext;
  readonly #job: GatherJob;
  readonly #book = new PieceBook();
  readonly #visits = new Map<NodeId, PeerVisit>();
  readonly #halt = new AbortController();
  readonly #signal: AbortSignal;
  /** Permissions that let nobody in any more, and when the others may be shown again. */
  readonly #spent = new Set<string>();
  readonly #notBefore = new Map<string, Millis>();
  readonly #asking = new Set<NodeId>();
  readonly #onTheirWay = new Set<number>();
  readonly #wrong: Set<NodeId>;
  /** Visits of each node that came to nothing. */
  readonly #shut = new Map<NodeId, number>();
  readonly #tried = new Set<number>();
  readonly #nextNotes = new Map<NodeId, Millis>();
  readonly #work = new Set<Promise<void>>();
  #gathering: Gathering | undefined;
  #opening: Promise<void> | undefined;
  #bytes: number;
  #round: number;
  #nextRound: Millis;
  #roundWait: Millis = FIRST_ROUND_AFTER;
  #lastNews: Millis;
  #leaderDone = 0;
  #failure: FetchFailure | undefined;
  #wake = new AbortController();

  constructor(context: GatherContext, job: GatherJob) {
    this.#context = context;
    this.#job = job;
    this.#bytes = job.bytes;
    this.#round = job.round;
    this.#wrong = new Set(job.wrong);
    this.#signal = AbortSignal.any([job.signal, this.#halt.signal]);
    const now = context.clock.monotonic();
    this.#lastNews = now;
    this.#nextRound = plus(now, FIRST_ROUND_AFTER);
  }

  async run(): Promise<GatherEnd> {
    for (;;) {
      const end = this.#end() ?? (await this.#finish());
      if (end !== undefined) return end;
      for (const source of this.#job.order()?.sources ?? []) this.#visit(source);
      for (const [node, visit] of this.#visits) this.#askNotes(node, visit);
      this.#askPieces();
      this.#askForRound();
      await this.#news();
    }
  }

  /** Keeps what came for whoever goes on with it. */
  async close(): Promise<void> {
    this.#halt.abort();
    await Promise.all(this.#work);
    await Promise.all([...this.#visits.values()].map((visit) => visit.close()));
    await this.#gathering?.release();
  }

  #end(): GatherEnd | undefined {
    const job = this.#job;
    if (job.signal.aborted) {
      return { kind: "failed", failure: { kind: "aborted", message: `fetching ${job.key} was stopped` } };
    }
    if (this.#failure !== undefined) return { kind: "failed", failure: this.#failure };
    const order = job.order();
    if (order?.toOrigin === true) return { kind: "origin", why: undefined };
    const now = this.#context.clock.monotonic();
    if (order !== undefined && order.leaderDone !== this.#leaderDone) {
      this.#leaderDone = order.leaderDone;
      this.#lastNews = now;
    }
    const patience = job.isConnected() ? PATIENCE : ALONE_PATIENCE;
    return now - this.#lastNews < patience ? undefined : { kind: "origin", why: "no other node has given anything" };
  }

  /** Undefined: something is missing yet. */
  async #finish(): Promise<GatherEnd | undefined> {
    const gathering = this.#gathering;
    const sha256 = this.#job.sha256 ?? this.#book.whole;
    if (gathering === undefined || sha256 === undefined) return undefined;
    if (gathering.notes().length < pieceCount(this.#bytes)) return undefined;
    this.#gathering = undefined;
    const file = await gathering.finish(sha256);
    if (file.ok) return { kind: "done", file: file.value };
    return { kind: "origin", why: file.error.message };
  }

  #visit(source: SharingSource): void {
    const { node, permission } = source;
    const now = this.#context.clock.monotonic();
    const isOff = this.#visits.has(node) || this.#asking.has(node) || this.#wrong.has(node);
    if (isOff || this.#spent.has(permission) || (this.#notBefore.get(permission) ?? 0) > now) return;
    this.#do(node, async () => {
      try {
        const visit = await visitPeer(source, this.#context.visiting, this.#signal);
        this.#spent.add(permission);
        if (this.#bytes !== 0 && visit.bytes !== this.#bytes) {
          await visit.close();
          return;
        }
        this.#bytes = visit.bytes;
        this.#visits.set(node, visit);
        this.#book.join(node);
      } catch (error) {
        const isOver = !(error instanceof PeerTrouble) || error.kind === "ended";
        if (isOver) this.#notIn(source);
        else this.#notBefore.set(permission, plus(this.#context.clock.monotonic(), TRY_AGAIN_AFTER));
        this.#context.logger.debug({ peer: node, why: messageOf(error) }, "another node does not give the file");
      }
    });
  }

  #notIn({ node, permission }: SharingSource): void {
    this.#spent.add(permission);
    if (this.#signal.aborted) return;
    this.#shut.set(node, (this.#shut.get(node) ?? 0) + 1);
    this.#tell(0);
  }

  #askNotes(node: NodeId, visit: PeerVisit): void {
    const { clock } = this.#context;
    const before = this.#book.seen(node);
    const isTold = this.#job.sha256 !== undefined || this.#book.whole !== undefined;
    const isEarly = clock.monotonic() < (this.#nextNotes.get(node) ?? 0);
    if (this.#asking.has(node) || isEarly || (isTold && before >= pieceCount(this.#bytes))) return;
    this.#do(node, async () => {
      try {
        this.#book.note(node, await visit.notes(before, this.#signal));
        await this.#recover();
      } catch (error) {
        // Between its last byte and its name a file is nowhere for a moment.
        if (!(error instanceof PeerTrouble) || error.kind === "ended") await this.#leave(node, error);
      }
      if (this.#book.seen(node) === before) this.#nextNotes.set(node, plus(clock.monotonic(), LOOK_EVERY));
    });
  }

  /** What an earlier download left here counts as soon as its hash is known. */
  async #recover(): Promise<void> {
    const gathering = await this.#open();
    if (gathering === undefined) return;
    for (const [index, sha256] of this.#book.known) {
      if (this.#tried.has(index) || this.#onTheirWay.has(index) || this.#signal.aborted) continue;
      this.#tried.add(index);
      if (await gathering.recover({ index, sha256 })) this.#count(0);
    }
  }

  /** Opened when the first peer has said how large the file is. */
  async #open(): Promise<Gathering | undefined> {
    if (this.#bytes !== 0) this.#opening ??= this.#openNow(this.#bytes);
    await this.#opening;
    return this.#gathering;
  }

  async #openNow(size: number): Promise<void> {
    const { target, sha256 } = this.#job;
    const hash = sha256 === undefined ? {} : { sha256 };
    const opened = await this.#context.downloader.gather({ target, size, ...hash, signal: this.#signal });
    if (opened.ok) this.#gathering = opened.value;
    else this.#failure = opened.error;
  }

  #askPieces(): void {
    const gathering = this.#gathering;
    if (gathering === undefined) return;
    const taken = new Set([...this.#onTheirWay, ...gathering.notes().map(({ index }) => index)]);
    const want = { total: pieceCount(this.#bytes), taken, mostInFlight: FROM_ONE_PEER, random: this.#context.random };
    while (this.#onTheirWay.size < AT_ONCE) {
      const next = nextPiece(this.#book.peers(), want);
      if (next === undefined || !this.#fetch(gathering, next)) return;
      taken.add(next.index);
    }
  }

  #fetch(gathering: Gathering, { node, index }: { readonly node: NodeId; readonly index: number }): boolean {
    const visit = this.#visits.get(node);
    const note = this.#book.hashOf(index);
    if (visit === undefined || note === undefined) return false;
    this.#onTheirWay.add(index);
    this.#book.busy(node, 1);
    this.#run(async () => {
      try {
        const data = await visit.read(index, this.#signal);
        if (await gathering.put(note, data)) this.#count(data.length);
        else await this.#blame(node);
      } catch (error) {
        if (error instanceof PeerTrouble && error.kind !== "ended") this.#book.lose(node, index);
        else await this.#leave(node, error);
      } finally {
        this.#onTheirWay.delete(index);
        this.#book.busy(node, -1);
      }
    });
    return true;
  }

  async #blame(node: NodeId): Promise<void> {
    // Of several pieces on their way the first is enough.
    if (this.#wrong.has(node)) return;
    this.#wrong.add(node);
    this.#job.onWrong(node);
    this.#context.logger.warn({ peer: node, file: this.#job.key }, `${node} gave wrong bytes of ${this.#job.key}`);
    await this.#leave(node, undefined);
    this.#tell(0);
  }

  async #leave(node: NodeId, error: unknown): Promise<void> {
    const visit = this.#visits.get(node);
    this.#visits.delete(node);
    this.#book.leave(node);
    await visit?.close();
    if (error !== undefined && !this.#signal.aborted) {
      this.#context.logger.debug({ peer: node, why: messageOf(error) }, "another node gives no more of the file");
    }
  }

  #count(came: number): void {
    this.#lastNews = this.#context.clock.monotonic();
    this.#tell(came);
  }

  #tell(came: number): void {
    const ranges = (this.#gathering?.notes() ?? []).map(({ index }) => pieceRange(this.#bytes, index));
    this.#job.onNews({
      done: ranges.reduce((sum, { start, end }) => sum + end - start, 0),
      ...{ total: this.#bytes, came, round: this.#round },
      from: [...this.#visits.keys()],
      wrong: [...this.#wrong],
      unreachable: [...this.#shut].flatMap(([node, times]) => (times >= SHUT_AFTER ? [node] : [])),
    });
  }

  /** A visit that broke off is only made again with a new permission. */
  #askForRound(): void {
    const now = this.#context.clock.monotonic();
    const sources = this.#job.order()?.sources ?? [];
    const isShort = sources.some(({ node, permission }) => this.#spent.has(permission) && !this.#visits.has(node));
    if (!isShort || now < this.#nextRound) return;
    this.#round += 1;
    this.#roundWait = millis(Math.min(LAST_ROUND_AFTER, this.#roundWait * 2));
    this.#nextRound = plus(now, this.#roundWait);
    this.#tell(0);
  }

  /** One question of a peer at a time, beside its pieces. */
  #do(node: NodeId, work: () => Promise<void>): void {
    this.#asking.add(node);
    this.#run(async () => {
      try {
        await work();
      } finally {
        this.#asking.delete(node);
      }
    });
  }

  #run(work: () => Promise<void>): void {
    const running = work()
      .catch((error: unknown) => {
        this.#failure ??= { kind: "refused", message: messageOf(error) };
      })
      .finally(() => {
        this.#work.delete(running);
        this.#wake.abort();
      });
    this.#work.add(running);
  }

  /** Until something has come to its end, or it is time to look again. */
  async #news(): Promise<void> {
    await pause(this.#context.clock, LOOK_EVERY, this.#wake.signal);
    this.#wake = new AbortController();
  }
}
