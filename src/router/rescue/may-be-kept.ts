import type { ReplicaRoute } from "../../core/route.ts";
import type { EngineAsk } from "../translate/ask.ts";

const BY_CHAT: ReadonlySet<string | undefined> = new Set(["/v1/messages", "/v1/responses"]);

/** Whether the question is still here, and engines like this one could go on with half an answer to that. Of one of which nothing is known: no. */
export function mayBeKept(
  { target, body }: Pick<EngineAsk, "target" | "body">,
  { apis }: Pick<ReplicaRoute, "apis">,
): boolean {
  const [path] = target.split("?", 1);
  if (apis === undefined || body.rest !== undefined) return false;
  if (path === "/v1/completions") return apis.includes("completions");
  if (path !== "/v1/chat/completions" && !(BY_CHAT.has(path) && apis.includes("chat"))) return false;
  return apis.includes("continues-last-message") || apis.includes("continues-when-asked");
}
