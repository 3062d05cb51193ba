import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { nodeId } from "../../core/ids.ts";
import { didYouMean } from "../../core/nearest.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Snapshot } from "../../store/store.ts";
import { type DeleteRequest, type DeleteResponse, DeleteResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { deleteAlias } from "../alias-change.ts";
import type { ControlPlane } from "../control-plane.ts";
import { type Change, deleteNode, deleteProfile } from "../manifest-change.ts";
import { aliasesTo } from "../named-objects.ts";
import { deleteUpstream } from "../upstreams/change.ts";
import { unknownName } from "./refusal.ts";

type Deleted = Result<Change<undefined>, ConnectError>;

/** What can be deleted, by the kind's name in lower case. */
const KINDS: Readonly<Record<string, (snapshot: Snapshot, name: string) => Deleted>> = {
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
  node(snapshot, name) {
    const node = snapshot.nodes.find(({ id }) => id === name);
    if (node === undefined) {
      const known = snapshot.nodes.map(({ id }) => id);
      return err(unknownName("node", name, known));
    }
    if (node.liveness === "connected") {
      const reason = `node ${name} is connected: stop its agent first, else it would join again at once`;
      return err(new ConnectError(reason, Code.FailedPrecondition));
    }
    return ok(deleteNode(snapshot, node.id));
  },
};

function heldByAlias(snapshot: Snapshot, kind: "profile" | "upstream", name: string): ConnectError | undefined {
  const [alias] = aliasesTo(snapshot, kind, name);
  if (alias === undefined) return undefined;
  const reason = `the alias ${alias} leads to the ${kind} ${name}: change or delete the alias first`;
  return new ConnectError(reason, Code.FailedPrecondition);
}

export async function remove({ loop, agents }: ControlPlane, { kind, name }: DeleteRequest): Promise<DeleteResponse> {
  const known = Object.keys(KINDS);
  const ask = Object.hasOwn(KINDS, kind.toLowerCase()) ? KINDS[kind.toLowerCase()] : undefined;
  if (ask === undefined) {
    const sentence = `there is nothing of the kind "${kind}" to delete; kinds: ${known.join(", ")}.`;
    throw new ConnectError(`${sentence}${didYouMean(kind.toLowerCase(), known)}`, Code.InvalidArgument);
  }
  const deleted = await loop.change((snapshot) => ask(snapshot, name));
  if (!deleted.ok) throw deleted.error;
  if (kind.toLowerCase() === "node") agents.forget(nodeId(name));
  return create(DeleteResponseSchema);
}
