import type { NodeId } from "../../../core/ids.ts";
import type { PieceNote } from "../../../platform/fetch/open-parts.ts";
import type { PiecePeer } from "../../../reconcile/next-piece.ts";
import type { PeerNotes } from "./visit.ts";

interface Known {
  generation: string;
  /** Notes that were read of this generation. */
  seen: number;
  pieces: Set<number>;
  inFlight: number;
  /** Of the whole; "" while the peer does not have it. */
  sha256: string;
}

/** Which pieces there are, with what hashes, and who has them. */
export class PieceBook {
  readonly #hashes = new Map<number, string>();
  readonly #peers = new Map<NodeId, Known>();

  join(node: NodeId): void {
    this.#peers.set(node, { generation: "", seen: 0, pieces: new Set(), inFlight: 0, sha256: "" });
  }

  leave(node: NodeId): void {
    this.#peers.delete(node);
  }

  /** How many of the peer's notes are known. */
  seen(node: NodeId): number {
    return this.#peers.get(node)?.seen ?? 0;
  }

  /** What a peer says counts unless somebody said otherwise before: whose word is true the whole's hash will show. */
  note(node: NodeId, { generation, sha256, notes }: PeerNotes): void {
    const peer = this.#peers.get(node);
    if (peer === undefined) return;
    if (peer.generation !== "" && peer.generation !== generation) {
      // It goes on with the same bytes under another name, or with others: it is read anew from the first note on.
      Object.assign(peer, { generation, seen: 0, pieces: new Set<number>(), sha256 });
      return;
    }
    Object.assign(peer, { generation, sha256, seen: peer.seen + notes.length });
    for (const { index, sha256: hash } of notes) {
      const known = this.#hashes.get(index) ?? hash;
      this.#hashes.set(index, known);
      if (known === hash) peer.pieces.add(index);
    }
  }

  hashOf(index: number): PieceNote | undefined {
    const sha256 = this.#hashes.get(index);
    return sha256 === undefined ? undefined : { index, sha256 };
  }

  get known(): ReadonlyMap<number, string> {
    return this.#hashes;
  }

  /** Of the whole, as far as a peer that has it says. */
  get whole(): string | undefined {
    return [...this.#peers.values()].map(({ sha256 }) => sha256).find((sha256) => sha256 !== "");
  }

  busy(node: NodeId, by: 1 | -1): void {
    const peer = this.#peers.get(node);
    if (peer !== undefined) peer.inFlight = Math.max(0, peer.inFlight + by);
  }

  /** The peer no longer has it. */
  lose(node: NodeId, index: number): void {
    this.#peers.get(node)?.pieces.delete(index);
  }

  peers(): readonly PiecePeer[] {
    return [...this.#peers].map(([node, { pieces, inFlight }]) => ({ node, pieces, inFlight }));
  }
}
