import type { ServiceImpl } from "@connectrpc/connect";
import { silentLogger } from "../../src/platform/logger.ts";
import { listen } from "../../src/platform/listen.ts";
import { rpcHandler } from "../../src/run/rpc-handler.ts";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";

export interface ScriptedAdmin {
  readonly url: string;
  stop(): Promise<void>;
}

/** A port that answers admin calls as it is told to; calls that nobody told it of are not there. */
export async function scriptedAdmin(answers: Partial<ServiceImpl<typeof AdminService>>): Promise<ScriptedAdmin> {
  const shutdown = new AbortController();
  const handler = rpcHandler({
    routes: (router) => {
      router.service(AdminService, answers);
    },
    shutdown: shutdown.signal,
    logger: silentLogger,
    otherwise: (_, response) => {
      response.statusCode = 404;
      response.end();
    },
  });
  const listening = await listen({ host: "127.0.0.1", port: 0, tls: undefined, handler });
  return {
    url: `http://127.0.0.1:${String(listening.port)}`,
    stop: () => {
      shutdown.abort();
      return listening.close();
    },
  };
}
