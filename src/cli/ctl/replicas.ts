import type { ListReplicasResponse, Replica } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { ListReplicasResponseSchema, ReplicaSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { Call, CommandSpec, OptionSpec } from "../command.ts";
import { OUTPUT, WATCH } from "../options.ts";
import { type Looking, processColumns, replicaColumns } from "../render/columns.ts";
import type { Column } from "../render/table.ts";
import { showList } from "./listing.ts";
import { findReplica, knownName } from "./names.ts";
import { type Session, withSession } from "./session.ts";

const PROFILE: OptionSpec = {
  flags: "-p, --profile <name>",
  doc: "only the replicas of this profile",
  completes: ["profile"],
};

export const replicas: CommandSpec = {
  name: "replicas",
  summary: "list the replicas, whatever their state",
  arguments: [{ form: "[name]", doc: "only this replica", completes: ["replica"] }],
  options: [PROFILE, OUTPUT, WATCH],
  examples: [
    { line: "llmgw ctl replicas", doc: "every replica with its state and the reason for it" },
    { line: "llmgw ctl replicas --profile qwen3-32b -w", doc: "one profile's replicas as they change" },
  ],
  run: (call) => withSession(call, (session) => list(call, session, { columns: replicaColumns })),
};

/** States in which a replica can have a process. */
const RUNNING: ReadonlySet<string> = new Set(["starting", "ready", "draining", "stopping"]);

export const ps: CommandSpec = {
  name: "ps",
  summary: "list the engine processes: where, which pid, how many requests in flight",
  options: [PROFILE, OUTPUT, WATCH],
  examples: [{ line: "llmgw ctl ps -w", doc: "what runs and how busy it is" }],
  run: (call) =>
    withSession(call, (session) =>
      list(call, session, {
        columns: processColumns,
        keep: (replica) => replica.pid !== 0 || RUNNING.has(replica.state),
      }),
    ),
};

interface View {
  readonly columns: (looking: Looking) => readonly Column<Replica>[];
  /** Left out: all of them. */
  readonly keep?: (replica: Replica) => boolean;
}

async function list(call: Call, session: Session, { columns, keep }: View): Promise<number> {
  const { client } = session;
  const [asked] = call.args;
  const id = asked === undefined ? "" : await findReplica(client, asked);
  const ofProfile = call.flags.textOr("profile", "");
  const profile = ofProfile === "" ? "" : await knownName(client, "profile", ofProfile);
  const kept = (answer: ListReplicasResponse): ListReplicasResponse =>
    keep === undefined ? answer : { ...answer, replicas: answer.replicas.filter(keep) };
  return showList(call, client, {
    answer: ListReplicasResponseSchema,
    item: ReplicaSchema,
    ask: async (it, signal) => kept(await it.listReplicas({ id, profile }, { signal })),
    rows: (answer) => answer.replicas,
    notice: (answer) => answer.notice,
    columns: id === "" ? columns : (looking) => columns(looking).map(shownOfOne),
    name: (replica) => `replica/${replica.id}`,
    empty: keep === undefined ? "There are no replicas." : "No engine is running.",
  });
}

/** Of a replica that is asked for by its name: what it was estimated to take and what it takes, side by side. */
const OF_ONE: readonly string[] = ["ESTIMATE", "MEASURED"];

const shownOfOne = (column: Column<Replica>): Column<Replica> =>
  OF_ONE.includes(column.header) ? { ...column, wide: false } : column;
