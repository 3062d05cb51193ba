import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CountingOrigin {
  /** Of the one file that there is. */
  readonly url: string;
  /** Bytes of the file that were sent. */
  readonly sent: number;
  /** Connections that bytes went over, by the client's own description of itself. */
  readonly askedBy: ReadonlySet<string>;
  /** From now on nothing more is sent to whoever asks. */
  halt(): void;
  go(): void;
  close(): Promise<void>;
}

const CHUNK = 256 * 1024;

/** A file host that answers ranges and counts what it sends. `pace`: milliseconds between two pieces of 256 KiB. */
export async function countingOrigin(data: Buffer, { pace = 0 } = {}): Promise<CountingOrigin> {
  let sent = 0;
  let halted: PromiseWithResolvers<undefined> | undefined;
  const askedBy = new Set<string>();
  const send = async (response: ServerResponse, part: Buffer): Promise<void> => {
    for (let at = 0; at < part.length && !response.destroyed; at += CHUNK) {
      await halted?.promise;
      const chunk = part.subarray(at, at + CHUNK);
      sent += chunk.length;
      if (!response.write(chunk)) await Promise.race([once(response, "drain"), once(response, "close")]);
      if (pace > 0) await new Promise((resolve) => setTimeout(resolve, pace));
    }
    response.end();
  };
  const server = createServer((request, response) => {
    askedBy.add(String(request.headers["user-agent"]));
    const [, first, last = ""] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(first ?? 0);
    const end = last === "" ? data.length : Math.min(data.length, Number(last) + 1);
    response.writeHead(first === undefined ? 200 : 206, {
      "content-length": end - start,
      ...(first === undefined ? {} : { "content-range": `bytes ${first}-${String(end - 1)}/${String(data.length)}` }),
      etag: '"one"',
    });
    response.on("error", () => undefined);
    if (request.method === "HEAD") response.end();
    else void send(response, data.subarray(start, end));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}/model.gguf`,
    get sent() {
      return sent;
    },
    askedBy,
    halt() {
      halted ??= Promise.withResolvers<undefined>();
    },
    go() {
      halted?.resolve(undefined);
      halted = undefined;
    },
    async close() {
      halted?.resolve(undefined);
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
