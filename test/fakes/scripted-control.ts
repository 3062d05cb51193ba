import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Dialled } from "../../src/agent/control-link.ts";
import { listen, type Listening } from "../../src/platform/listen.ts";
import {
  AgentService,
  type SessionRequest,
  type SessionResponse,
  SessionResponseSchema,
} from "../../src/wire/gen/llmgw/v1/agent_pb.js";

export type Said = NonNullable<MessageInitShape<typeof SessionResponseSchema>["body"]>;

export const say = (body: Said): SessionResponse => create(SessionResponseSchema, { body });
export const welcome = say({ case: "welcome", value: { serverId: "s1", serverVersion: "1" } });

/** What a test's control plane does with one stream. */
export type Script = (
  requests: AsyncIterable<SessionRequest>,
  context: HandlerContext,
) => AsyncIterable<SessionResponse>;

/** A control plane that does with its first stream what the first script says, and so on; the last one is repeated. */
export async function scriptedControl(
  ...scripts: readonly [Script, ...Script[]]
): Promise<Listening & { readonly url: string }> {
  let streams = 0;
  const routes = (router: ConnectRouter): void => {
    router.service(AgentService, {
      session(requests, context) {
        const script = scripts[Math.min(streams++, scripts.length - 1)] ?? scripts[0];
        return script(requests, context);
      },
    });
  };
  const listening = await listen({
    host: "127.0.0.1",
    port: 0,
    tls: undefined,
    handler: connectNodeAdapter({ routes }),
  });
  return { ...listening, url: `http://127.0.0.1:${String(listening.port)}` };
}

/** A real HTTP/2 connection, as an agent makes one. */
export function dial(server: string): Promise<Dialled> {
  const session = new Http2SessionManager(server);
  const transport = createConnectTransport({ httpVersion: "2", baseUrl: server, sessionManager: session });
  const close = (): void => {
    session.abort();
  };
  return Promise.resolve({ transport, close });
}
