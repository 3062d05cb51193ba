import { create } from "@bufbuild/protobuf";
import { millis, nodeId } from "../core/ids.ts";
import type { SharedDoing, SharedFile, SharedTransfer, SharingPlan, SharingReport } from "../core/sharing.ts";
import {
  type FileTransfer,
  FileTransferSchema,
  type SharedFile as WireFile,
  type SharedTransfer as WireTransfer,
  type SharingPlan as WirePlan,
  SharingPlanSchema,
  type SharingReport as WireReport,
  SharingReportSchema,
} from "./gen/llmgw/v1/sharing_pb.js";
import { asCount, toText, toUint32 } from "./scalar.ts";

export const sharingReportToWire = (report: SharingReport): WireReport =>
  create(SharingReportSchema, {
    port: toUint32(report.port),
    tls: report.tls,
    held: report.held.map(fileToWire),
    transfers: report.transfers.map((transfer) => ({
      file: fileToWire(transfer.file),
      source: toText(transfer.source),
      doing: transfer.doing,
      done: transfer.done,
      round: toUint32(transfer.round),
      wrong: [...transfer.wrong],
      from: [...transfer.from],
      unreachable: [...transfer.unreachable],
    })),
    originBytes: report.originBytes,
    peerBytes: report.peerBytes,
    finds: report.finds.map(({ node, key }) => ({ node, key: toText(key) })),
  });

/** Total: what makes no sense is left out or taken for unknown. */
export const sharingReportFromWire = (message: WireReport): SharingReport => ({
  port: message.port <= 65_535 ? message.port : 0,
  tls: message.tls,
  held: message.held.map(fileFromWire),
  transfers: message.transfers.flatMap(transferFromWire),
  originBytes: asCount(message.originBytes),
  peerBytes: asCount(message.peerBytes),
  finds: message.finds.map(({ node, key }) => ({ node: nodeId(node), key })),
});

const fileToWire = ({ key, bytes, sha256 }: SharedFile) => ({ key: toText(key), bytes, sha256: toText(sha256) });

const fileFromWire = ({ key, bytes, sha256 }: Pick<WireFile, "key" | "bytes" | "sha256">): SharedFile => ({
  key,
  bytes: asCount(bytes),
  sha256: sha256.toLowerCase(),
});

function transferFromWire(message: WireTransfer): readonly SharedTransfer[] {
  if (message.file === undefined) return [];
  return [
    {
      file: fileFromWire(message.file),
      source: message.source,
      doing: doingOf(message.doing),
      done: asCount(message.done),
      round: message.round,
      wrong: message.wrong.map(nodeId),
      from: message.from.map(nodeId),
      unreachable: message.unreachable.map(nodeId),
    },
  ];
}

interface Moving {
  readonly key: string;
  readonly source: string;
  readonly done: number;
  readonly bytes: number;
  readonly from: readonly string[];
}

/** As the admin API shows it. */
export const transferToWire = ({ key, source, done, bytes, from }: Moving): FileTransfer =>
  create(FileTransferSchema, { key: toText(key), source: toText(source), done, bytes, from: [...from] });

const doingOf = (word: string): SharedDoing => (word === "origin" || word === "peers" ? word : "waiting");

export const sharingPlanToWire = ({ orders, permissions, suspects }: SharingPlan): WirePlan =>
  create(SharingPlanSchema, {
    orders: orders.map(({ key, toOrigin, leaderDone, sources }) => ({
      ...{ key, toOrigin, leaderDone },
      sources: sources.map(({ node, host, port, tls, permission }) => ({ node, host, port, tls, permission })),
    })),
    permissions: permissions.map(({ permission, node, key, validFor }) => ({
      ...{ permission, node, key },
      validMs: toUint32(validFor),
    })),
    suspects: [...suspects],
  });

export const sharingPlanFromWire = ({ orders, permissions, suspects }: WirePlan): SharingPlan => ({
  orders: orders.map(({ key, toOrigin, leaderDone, sources }) => ({
    ...{ key, toOrigin, leaderDone: asCount(leaderDone) },
    sources: sources.map(({ node, host, port, tls, permission }) => ({
      ...{ node: nodeId(node), host, port, tls, permission },
    })),
  })),
  permissions: permissions.map(({ permission, node, key, validMs }) => ({
    ...{ permission, node: nodeId(node), key },
    validFor: millis(validMs),
  })),
  suspects,
});
