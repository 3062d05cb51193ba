import { messageOf } from "../../../core/errors.ts";
import { pieceRange } from "../../../core/pieces.ts";
import type { SharingSource } from "../../../core/sharing.ts";
import type { PieceNote } from "../../../platform/fetch/open-parts.ts";
import { openPeerHttp, type PeerAnswer, type PeerHttp, type PeerTls } from "../../../platform/peer-http.ts";
import { countOf, fieldsOf, listOf, parseJson, textOf } from "../../../wire/json-value.ts";

/** Why a visit ended. */
export class PeerTrouble extends Error {
  /** busy: the same may go better in a moment. gone: it does not have that, now. ended: this visit is over. */
  readonly kind: "busy" | "gone" | "ended";

  constructor(kind: PeerTrouble["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface PeerNotes {
  readonly generation: string;
  /** "" while the whole is not there. */
  readonly sha256: string;
  readonly notes: readonly PieceNote[];
}

/** One file of another node, for as long as it lets this one in. Every method throws PeerTrouble. */
export interface PeerVisit {
  /** Of the whole file. */
  readonly bytes: number;
  /** Pieces that came after the first so many. */
  notes(after: number, signal: AbortSignal): Promise<PeerNotes>;
  read(index: number, signal: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface Visiting {
  /** This node's own id. */
  readonly node: string;
  /** Undefined: this node has no certificate. */
  readonly tls: (peer: string) => PeerTls | undefined;
}

const MOST_TEXT_BYTES = 1024 * 1024;

/** Shows the permission, which is used up by it. */
export async function visitPeer(source: SharingSource, visiting: Visiting, signal: AbortSignal): Promise<PeerVisit> {
  const tls = visiting.tls(source.node);
  // A port that asks for no certificate could be anybody's.
  if (source.tls !== (tls !== undefined)) {
    throw new PeerTrouble("ended", `of ${visiting.node} and ${source.node} only one has a certificate`);
  }
  const http = await openPeerHttp(source, tls);
  try {
    const headers = { authorization: `Bearer ${source.permission}`, "x-llmgw-node": visiting.node };
    const answer = await ask(http, { method: "POST", path: "/weights/visits", headers, signal });
    const opened = fieldsOf(parseJson(answer.body.toString("utf8")));
    const bytes = countOf(opened["bytes"]);
    if (bytes === undefined || bytes === 0)
      throw new PeerTrouble("ended", `${source.node} does not say how large the file is`);
    return visitOf(http, { visit: textOf(opened["visit"]), bytes });
  } catch (error) {
    await http.close();
    throw error;
  }
}

function visitOf(http: PeerHttp, { visit, bytes }: { readonly visit: string; readonly bytes: number }): PeerVisit {
  const headers = { authorization: `Bearer ${visit}` };
  return {
    bytes,
    async notes(after, signal) {
      const answer = await ask(http, { method: "GET", path: `/weights/notes?after=${String(after)}`, headers, signal });
      const raw = fieldsOf(parseJson(answer.body.toString("utf8")));
      if (countOf(raw["bytes"]) !== bytes) throw new PeerTrouble("ended", "the file has another size now");
      const notes = listOf(raw["notes"]).flatMap(noteOf);
      return { generation: textOf(raw["generation"]), sha256: textOf(raw["sha256"]).toLowerCase(), notes };
    },
    async read(index, signal) {
      const { start, end } = pieceRange(bytes, index);
      const asked = { method: "GET", path: `/weights/pieces/${String(index)}`, headers, signal } as const;
      return (await ask(http, { ...asked, mostBytes: end - start })).body;
    },
    close: () => http.close(),
  };
}

function noteOf(raw: unknown): readonly PieceNote[] {
  const [index, sha256] = listOf(raw);
  const count = countOf(index);
  return count === undefined || !/^[0-9a-f]{64}$/.test(textOf(sha256))
    ? []
    : [{ index: count, sha256: textOf(sha256) }];
}

interface Asked {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly mostBytes?: number;
  readonly signal: AbortSignal;
}

async function ask(http: PeerHttp, { mostBytes = MOST_TEXT_BYTES, ...asked }: Asked): Promise<PeerAnswer> {
  const answer = await http
    .send({ ...asked, mostBytes: Math.max(mostBytes, MOST_TEXT_BYTES) })
    .catch((error: unknown) => {
      throw new PeerTrouble("ended", messageOf(error));
    });
  if (answer.status === 200) return answer;
  const words = answer.body.toString("utf8").trim().slice(0, 300);
  const kind = answer.status === 503 ? "busy" : answer.status === 404 ? "gone" : "ended";
  throw new PeerTrouble(kind, `it answered ${String(answer.status)}: ${words}`);
}
