import { LlmgwError } from "../../core/errors.ts";
import { didYouMean } from "../../core/nearest.ts";
import type { AdminClient } from "../../run/client.ts";
import type { Call, CommandSpec, ObjectKind } from "../command.ts";
import { OUTPUT_PAGE, TIMEOUT } from "../options.ts";
import { knownName } from "./names.ts";
import { printOutcome } from "./output.ts";
import { type Session, withSession } from "./session.ts";
import { timeoutOf, waitUntilReady } from "./wait-ready.ts";
import { waitUntilDone } from "./wait-until.ts";

interface Seen {
  readonly state: string;
  readonly reason: string;
}

interface Waitable {
  /** What can be waited for, beside `deleted`. */
  readonly conditions: readonly string[];
  /** Undefined: there is no such object. */
  readonly look: (client: AdminClient, name: string) => Promise<Seen | undefined>;
}

/** A key is there or it is not: nobody waits for one. */
type WaitableKind = Exclude<ObjectKind, "upstream" | "key" | "token">;

const WAITABLE: Readonly<Record<WaitableKind, Waitable>> = {
  profile: {
    conditions: ["ready"],
    look: async (client, name) => {
      const found = (await client.listProfiles({ name })).profiles.find((profile) => profile.name === name);
      if (found === undefined) return undefined;
      const counts = `${String(found.ready)} of ${String(found.replicas)} replicas are ready`;
      return { state: found.ready >= found.replicas ? "ready" : "waiting", reason: counts };
    },
  },
  replica: {
    conditions: ["ready", "placed", "preparing", "starting", "draining", "stopping", "stopped", "failed", "lost"],
    look: async (client, id) => (await client.listReplicas({})).replicas.find((replica) => replica.id === id),
  },
  node: {
    conditions: ["ready", "degraded", "unreachable", "lost"],
    look: async (client, id) => {
      const found = (await client.listNodes({})).nodes.find((node) => node.id === id);
      return found === undefined ? undefined : { state: found.state, reason: found.reasons.join("; ") };
    },
  },
  model: {
    conditions: ["ready"],
    look: async (client, name) => {
      const found = (await client.listModels({})).models.find((model) => model.name === name);
      if (found === undefined) return undefined;
      return { state: found.ready > 0 ? "ready" : "waiting", reason: found.waitingFor };
    },
  },
};

const KINDS = Object.keys(WAITABLE) as readonly WaitableKind[];

export const wait: CommandSpec = {
  name: "wait",
  summary: "wait until something is as it should be",
  details: "Exit code 4 when the time is over, 3 when there is no such object, 1 when it failed for good.",
  arguments: [{ form: "<kind/name>", doc: `one of ${KINDS.join(", ")}, and its name`, completes: KINDS }],
  options: [
    { flags: "--for <condition>", doc: "ready (default), deleted, or a state that a replica or node can be in" },
    TIMEOUT,
    OUTPUT_PAGE,
  ],
  examples: [
    { line: "llmgw ctl wait profile/qwen3-32b --for ready --timeout 5m", doc: "until all its replicas answer" },
    { line: "llmgw ctl wait node/gpu-a-01 --timeout 90s", doc: "until a node is back" },
    { line: "llmgw ctl wait profile/old --for deleted", doc: "until it is gone" },
  ],
  run: async (call) => {
    const { kind, name } = target(call.args[0] ?? "");
    const condition = conditionOf(kind, call.flags.textOr("for", "ready"));
    timeoutOf(call);
    return withSession(call, (session) => waitFor(call, session, { kind, name, condition }));
  },
};

interface Awaited {
  readonly kind: WaitableKind;
  readonly name: string;
  readonly condition: string;
}

async function waitFor(call: Call, { client }: Session, awaited: Awaited): Promise<number> {
  const { kind, name, condition } = awaited;
  if (condition !== "deleted") await knownName(client, kind, `${kind}/${name}`);
  if (kind === "profile" && condition === "ready") await waitUntilReady(call, client, name);
  else await waitUntilDone(call, () => notYet(client, awaited), `${kind}/${name} was not ${condition}`);
  printOutcome(call, { kind, name, condition, met: true }, `${kind}/${name} ${condition}`);
  return 0;
}

function target(text: string): { readonly kind: WaitableKind; readonly name: string } {
  const [word = "", ...rest] = text.split("/");
  const singular = word.toLowerCase().replace(/s$/, "");
  const kind = KINDS.find((known) => known === singular);
  const name = rest.join("/");
  if (kind !== undefined && name !== "") return { kind, name };
  const meant = kind === undefined ? didYouMean(singular, KINDS) : "";
  throw new LlmgwError("BAD_REQUEST", `Write KIND/NAME, such as profile/qwen3-32b, not "${text}".${meant}`);
}

function conditionOf(kind: WaitableKind, condition: string): string {
  const known = [...WAITABLE[kind].conditions, "deleted"];
  if (known.includes(condition)) return condition;
  const meant = didYouMean(condition, known);
  throw new LlmgwError("BAD_REQUEST", `A ${kind} is never "${condition}": wait for ${known.join(", ")}.${meant}`);
}

async function notYet(client: AdminClient, { kind, name, condition }: Awaited): Promise<string | undefined> {
  const seen = await WAITABLE[kind].look(client, name);
  if ((seen?.state ?? "deleted") === condition) return undefined;
  if (seen === undefined) throw new LlmgwError("NOT_FOUND", `The ${kind} "${name}" has been deleted.`);
  if (seen.state === "failed" && condition === "ready")
    throw new LlmgwError("FAILED", `${name} failed: ${seen.reason}`);
  return `it is ${seen.state}${seen.reason === "" ? "" : ` (${seen.reason})`}`;
}
