import type { DescMethod, MessageShape } from "@bufbuild/protobuf";
import type { SubjectKind } from "../core/event.ts";
import type { GrantedRole, Role } from "../core/roles.ts";
import type { AdminService } from "../wire/gen/llmgw/v1/admin_pb.js";
import { RouterService } from "../wire/gen/llmgw/v1/router_pb.js";

type Methods = typeof AdminService.method;

/** What an order was, for the record: "who from where: <words>". */
export interface Order {
  readonly subjectKind: SubjectKind;
  readonly subject: string;
  readonly words: string;
}

type Orders<M extends keyof Methods> = (
  request: MessageShape<Methods[M]["input"]>,
  answer: MessageShape<Methods[M]["output"]>,
) => readonly Order[];

/** A call of the admin API: the least role that may make it, and what it leaves in the record. */
interface Rule<M extends keyof Methods> {
  readonly least: Role;
  /** "nothing" for what changes nothing; "itself" for what notes an event of its own with the caller in it. */
  readonly record: "nothing" | "itself" | Orders<M>;
}

const READS = { least: "viewer", record: "nothing" } as const;

const order = (subjectKind: SubjectKind, subject: string, words: string): readonly Order[] => [
  { subjectKind, subject, words },
];

/**
 * Every call of the admin API. Viewers read; operators change what runs, and read what may hold secrets of engines; trust
 * (keys, tokens, everything at once) is for admins.
 */
export const ADMIN_CALLS: { readonly [M in keyof Methods]: Rule<M> } = {
  getCaller: READS,
  getStatus: READS,
  listNodes: READS,
  listProfiles: READS,
  listReplicas: READS,
  listModels: READS,
  listEvents: READS,
  listEngines: READS,
  listWeights: READS,
  plan: READS,
  getRollout: READS,
  explain: READS,
  logs: READS,
  listKeys: READS,
  getUsage: READS,
  getRequest: READS,
  listTokens: READS,
  export: { least: "operator", record: "nothing" },
  debug: { least: "operator", record: "nothing" },
  apply: {
    least: "operator",
    record: (_, { applied }) =>
      applied.flatMap(({ kind, name, outcome }) =>
        outcome === "unchanged" ? [] : order(subjectOf(kind), name, `${kind} ${name} ${outcome}`),
      ),
  },
  delete: {
    least: "operator",
    record: ({ kind, name }) => order(subjectOf(kind), name, `${kind} ${name} deleted`),
  },
  scale: {
    least: "operator",
    record: ({ profile, replicas }, { before }) =>
      order("profile", profile, `profile ${profile} scaled from ${String(before)} to ${String(replicas)} replicas`),
  },
  restart: {
    least: "operator",
    record: ({ name }, { profile, replicas }) =>
      order("profile", profile, `${name} restarted: ${replicas.length === 0 ? "no replica" : replicas.join(", ")}`),
  },
  undoRollout: {
    least: "operator",
    record: ({ profile }, { revision }) =>
      order("profile", profile, `profile ${profile} returned to revision ${String(revision)}`),
  },
  cordon: {
    least: "operator",
    record: ({ node, cordoned }) => order("node", node, `node ${node} ${cordoned ? "cordoned" : "uncordoned"}`),
  },
  drain: { least: "operator", record: ({ node }) => order("node", node, `node ${node} is to be drained`) },
  createKey: { least: "admin", record: "itself" },
  revokeKey: { least: "admin", record: "itself" },
  createToken: { least: "admin", record: "itself" },
  revokeToken: { least: "admin", record: "itself" },
  backup: { least: "admin", record: "nothing" },
};

const SUBJECTS: Readonly<Record<string, SubjectKind>> = {
  node: "node",
  profile: "profile",
  alias: "alias",
  upstream: "upstream",
};

/** Kinds that have no events of their own are the server's. */
const subjectOf = (kind: string): SubjectKind => SUBJECTS[kind.toLowerCase()] ?? "server";

/** The least role for a call that the control plane's gate guards. */
export function leastRole(method: DescMethod): GrantedRole {
  // The table holds the engines' keys.
  if (method.parent.typeName === RouterService.typeName) return "router";
  const calls: Readonly<Record<string, { readonly least: Role }>> = ADMIN_CALLS;
  // A call that nobody has thought of is nobody's but an admin's.
  return calls[method.localName]?.least ?? "admin";
}
