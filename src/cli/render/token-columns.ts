import type { Token } from "../../wire/gen/llmgw/v1/trust_pb.js";
import { ageOf, expiry, type Looking } from "./columns.ts";
import type { Column } from "./table.ts";

export const tokenColumns = ({ now, colours }: Looking): readonly Column<Token>[] => [
  { header: "ID", cell: (token) => token.id },
  { header: "TOKEN", cell: (token) => `${token.prefix}…` },
  { header: "FOR", cell: whom },
  {
    header: "STATE",
    cell: (token) => token.state,
    colour: (token) => (token.state === "active" ? colours.green : colours.red),
  },
  { header: "USES LEFT", cell: usesLeft },
  { header: "EXPIRES", cell: (token) => expiry(token.expiresAt, now), ticks: true },
  { header: "AGE", cell: (token) => ageOf(token.createdAt, now), right: true, ticks: true },
  { header: "NODES", cell: ({ nodes }) => (nodes.length === 0 ? "-" : nodes.join(",")), wide: true },
  { header: "CREATED BY", cell: (token) => token.createdBy, wide: true },
];

function whom({ kind, node, name, role }: Token): string {
  if (kind === "user") return `${name} (${role})`;
  return node === "" ? "any node" : `node ${node}`;
}

const usesLeft = ({ kind, uses, usesLeft: left }: Token): string =>
  kind === "user" ? "-" : `${String(left)}/${String(uses)}`;
