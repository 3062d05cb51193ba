import { upstreamId } from "../../core/upstream.ts";
import type { AdminClient } from "../../run/client.ts";
import type { Call, CommandSpec, ObjectKind } from "../command.ts";
import { confirm, YES } from "../confirm.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { knownName } from "./names.ts";
import { printOutcome } from "./output.ts";
import { type Session, withSession } from "./session.ts";

/** What goes with it, in words. */
type Consequence = (client: AdminClient, name: string) => Promise<string>;

/** Kinds whose names are known here. Of others the control plane says whether it has them. */
const KINDS: Readonly<Record<string, { readonly kind: ObjectKind; readonly consequence: Consequence }>> = {
  profile: {
    kind: "profile",
    consequence: async (client, name) => {
      const serving = (await client.listReplicas({ profile: name })).replicas.filter(({ state }) => state === "ready");
      const replicas = serving.length === 1 ? "replica serves" : "replicas serve";
      return serving.length === 0 ? "" : `, of which ${String(serving.length)} ${replicas}`;
    },
  },
  upstream: {
    kind: "upstream",
    consequence: async (client, name) => {
      const { models } = await client.listModels({});
      const names = models.filter(({ profile }) => profile === upstreamId(name)).map((model) => model.name);
      return `, so that nobody answers for ${names.join(", ")}`;
    },
  },
  node: { kind: "node", consequence: () => Promise.resolve(", so that what ran there is given up") },
};

export const remove: CommandSpec = {
  name: "delete",
  summary: "delete a profile or an upstream, or a node that does not come back",
  details:
    "A profile's replicas are drained and stopped. A node must be gone: while its agent is connected it is refused. Its join tokens and, where the control plane holds the authority, its certificates are revoked with it. On a terminal it asks first.",
  arguments: [
    { form: "<kind>", doc: "profile, upstream, node, or another kind that was applied" },
    { form: "<name>", doc: "its name", completes: ["profile", "upstream", "node"] },
  ],
  options: [YES, OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl delete profile qwen3-32b", doc: "stop serving it" },
    { line: "llmgw ctl delete node gpu-a-09 --yes", doc: "a machine that was taken away" },
  ],
  run: (call) => withSession(call, (session) => deleteOne(call, session)),
};

async function deleteOne(call: Call, { client }: Session): Promise<number> {
  const [asked = "", given = ""] = call.args;
  // Manifests write Profile, people write profile or profiles.
  const kind = asked.toLowerCase().replace(/(?<=[^s])s$/, "");
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  const name = known === undefined ? given : await knownName(client, known.kind, given);
  if (known !== undefined) {
    await confirm(call, `Delete the ${kind} ${name}${await known.consequence(client, name)}?`);
  }
  const { notes } = await client.delete({ kind, name });
  printOutcome(call, { kind: written(kind), name, outcome: "deleted" }, `${kind}/${name} deleted`);
  for (const note of notes) call.io.stderr.write(`${note}\n`);
  return 0;
}

/** As manifests write it. */
const written = (kind: string): string => `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
