import type { Millis, NodeId } from "./ids.ts";

/** A file of weights as nodes speak of it to each other. */
export interface SharedFile {
  /** The folder of one revision of one source, a slash, and the file's name in it. */
  readonly key: string;
  /** 0: not known yet. */
  readonly bytes: number;
  /** Lower-case hex; "" not known yet. */
  readonly sha256: string;
}

/** waiting: for the word of the control plane, or for others to have something. */
export type SharedDoing = "waiting" | "origin" | "peers";

/** A file that a node is getting. */
export interface SharedTransfer {
  readonly file: SharedFile;
  /** The model's, as its profile has it. */
  readonly source: string;
  readonly doing: SharedDoing;
  readonly done: number;
  /** Grows when the permissions of before are of no more use. */
  readonly round: number;
  /** Nodes whose bytes were wrong. */
  readonly wrong: readonly NodeId[];
  /** Nodes that bytes come from at present. */
  readonly from: readonly NodeId[];
  /** Nodes that did not let it in, or cannot be reached. */
  readonly unreachable: readonly NodeId[];
}

/** What a node has for others and what it is getting. */
export interface SharingReport {
  /** Where others fetch from it; 0: nowhere. */
  readonly port: number;
  /** Whether that port wants a certificate. */
  readonly tls: boolean;
  readonly held: readonly SharedFile[];
  readonly transfers: readonly SharedTransfer[];
  /** Bytes of weights that came to the node since its agent started. */
  readonly originBytes: number;
  readonly peerBytes: number;
  /** Said for a while after they were made, also when the file is here by then. */
  readonly finds: readonly WrongBytes[];
}

/** A node that gave wrong bytes of a file. */
export interface WrongBytes {
  readonly node: NodeId;
  readonly key: string;
}

/** Another node to fetch a file from. */
export interface SharingSource {
  readonly node: NodeId;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Shown once, to that node, for that file. */
  readonly permission: string;
}

/** What a node is to do about a file that it is getting. */
export interface SharingOrder {
  readonly key: string;
  /** It is the one of its site that goes to the source. */
  readonly toOrigin: boolean;
  /** Bytes that the node has that goes to the source: while they grow, waiting is right. */
  readonly leaderDone: number;
  readonly sources: readonly SharingSource[];
}

/** Another node may fetch the file, once. */
export interface SharingPermission {
  readonly permission: string;
  readonly node: NodeId;
  readonly key: string;
  /** From when it was sent. */
  readonly validFor: Millis;
}

export interface SharingPlan {
  readonly orders: readonly SharingOrder[];
  readonly permissions: readonly SharingPermission[];
  /** Files of the node that somebody found wrong: to be checked against their hash now. */
  readonly suspects: readonly string[];
}
