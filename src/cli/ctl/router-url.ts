import { LlmgwError } from "../../core/errors.ts";
import type { Call } from "../command.ts";
import type { Session } from "./session.ts";

/** Where to send a request for a model: --router, else what the control plane says of its own router. */
export async function routerUrlFor(call: Call, { client, connection }: Session): Promise<string> {
  const asked = call.flags.text("router");
  if (asked !== undefined) {
    if (/^https?:\/\//.test(asked) && URL.canParse(asked)) return asked;
    throw new LlmgwError("BAD_REQUEST", `--router takes an address such as http://127.0.0.1:8080, not "${asked}".`);
  }
  const { routerUrl } = await client.getStatus({});
  if (routerUrl === "") {
    throw new LlmgwError("FAILED", "This control plane carries no router: name one with --router http://HOST:8080.");
  }
  return reachable(routerUrl, connection.server);
}

/** A router that listens on every address is reached where the control plane is. */
export function reachable(routerUrl: string, server: string): string {
  const url = new URL(routerUrl);
  if (url.hostname !== "0.0.0.0" && url.hostname !== "[::]") return routerUrl;
  url.hostname = new URL(server).hostname;
  return url.href;
}
