import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { messageOf } from "../../core/errors.ts";
import { type NodeId, nodeId } from "../../core/ids.ts";
import { didYouMean } from "../../core/nearest.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Snapshot } from "../../store/store.ts";
import { type DeleteRequest, type DeleteResponse, DeleteResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { deleteAlias } from "../alias-change.ts";
import { callerInWords } from "../caller.ts";
import type { ControlPlane } from "../control-plane.ts";
import type { Enrolment } from "../enrolment.ts";
import { type Change, deleteNode, deleteProfile } from "../manifest-change.ts";
import { aliasesTo } from "../named-objects.ts";
import { endNodeTokens } from "../tokens/end-node.ts";
import type { WrittenDown } from "../tokens/token-change.ts";
import { deleteUpstream } from "../upstreams/change.ts";
import { unknownName } from "./refusal.ts";

/** The answer tells, in words, what ended with it. */
type Deleted = Result<Change<readonly string[] | undefined>, ConnectError>;

/** What can be deleted, by the kind's name in lower case. */
const KINDS: Readonly<Record<string, (snapshot: Snapshot, name: string, order: WrittenDown) => Deleted>> = {
  profile(snapshot, name) {
    const held = heldByAlias(snapshot, "profile", name);
    if (held !== undefined) return err(held);
    const deleted = deleteProfile(snapshot, name);
    return deleted.ok ? deleted : err(unknownName("profile", name, deleted.error));
  },
  alias(snapshot, name) {
    const deleted = deleteAlias(snapshot, name);
    return deleted.ok ? deleted : err(unknownName("alias", name, deleted.error));
  },
  upstream(snapshot, name) {
    const held = heldByAlias(snapshot, "upstream", name);
    if (held !== undefined) return err(held);
    const deleted = deleteUpstream(snapshot, name);
    return deleted.ok ? deleted : err(unknownName("upstream", name, deleted.error));
  },
  node(snapshot, name, order) {
    const node = snapshot.nodes.find(({ id }) => id === name);
    if (node === undefined) {
      const known = snapshot.nodes.map(({ id }) => id);
      return err(unknownName("node", name, known));
    }
    if (node.liveness === "connected") {
      const reason = `node ${name} is connected: stop its agent first, else it would join again at once`;
      return err(new ConnectError(reason, Code.FailedPrecondition));
    }
    const deleted = deleteNode(snapshot, node.id);
    const tokens = endNodeTokens(deleted.snapshot, node.id, order);
    return ok({ ...tokens, events: [...deleted.events, ...tokens.events] });
  },
};

function heldByAlias(snapshot: Snapshot, kind: "profile" | "upstream", name: string): ConnectError | undefined {
  const [alias] = aliasesTo(snapshot, kind, name);
  if (alias === undefined) return undefined;
  const reason = `the alias ${alias} leads to the ${kind} ${name}: change or delete the alias first`;
  return new ConnectError(reason, Code.FailedPrecondition);
}

export async function remove(
  { loop, agents, clock, enrolment }: Deleting,
  { kind, name }: DeleteRequest,
  context: HandlerContext,
): Promise<DeleteResponse> {
  const known = Object.keys(KINDS);
  const ask = Object.hasOwn(KINDS, kind.toLowerCase()) ? KINDS[kind.toLowerCase()] : undefined;
  if (ask === undefined) {
    const sentence = `there is nothing of the kind "${kind}" to delete; kinds: ${known.join(", ")}.`;
    throw new ConnectError(`${sentence}${didYouMean(kind.toLowerCase(), known)}`, Code.InvalidArgument);
  }
  const order = { now: clock.now(), who: callerInWords(context) };
  const deleted = await loop.change((snapshot) => ask(snapshot, name, order));
  if (!deleted.ok) throw deleted.error;
  const notes = [...(deleted.value ?? [])];
  if (kind.toLowerCase() === "node") {
    agents.forget(nodeId(name));
    const words = await revokeCertificates(enrolment, nodeId(name));
    if (words !== undefined) {
      notes.push(words);
      const about = { subjectKind: "node", subject: name, reason: "NodeDeleted" } as const;
      loop.report({ level: "info", ...about, message: `${words}, as ${order.who} deleted it` });
    }
  }
  return create(DeleteResponseSchema, { notes });
}

type Deleting = Pick<ControlPlane, "loop" | "agents" | "clock" | "enrolment">;

/** A machine that was taken away must not come back by what is on its disk. */
async function revokeCertificates(enrolment: Enrolment | undefined, node: NodeId): Promise<string | undefined> {
  if (enrolment === undefined) return undefined;
  const byHand = `revoke them with \`llmgw ctl cert revoke ${node}\` where the authority is`;
  const obstacle = await enrolment.obstacle();
  if (obstacle !== undefined) return `certificates of ${node} stay in force: ${byHand}`;
  try {
    const count = await enrolment.revoke(node);
    if (count === 0) return `no certificate of ${node} in force was issued here`;
    return `${String(count)} ${count === 1 ? "certificate" : "certificates"} of ${node} revoked`;
  } catch (error) {
    return `certificates of ${node} stay in force (${messageOf(error)}): ${byHand}`;
  }
}
