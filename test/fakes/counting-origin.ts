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
  /** Ends the halt for good. */
  go(): void;
  close(): Promise<void>;
}

const CHUNK = 256 * 1024;

interface OriginOptions {
  /** Milliseconds between two parts of 256 KiB of one answer. */
  readonly pace?: number;
  /** After so many bytes it comes to a halt until it is told to go on. */
  readonly haltAt?: number;
}

/** A file host that answers ranges and counts what it sends. */
export async function countingOrigin(data: Buffer, { pace = 0, haltAt }: OriginOptions = {}): Promise<CountingOrigin> {
  let sent = 0;
  let halted: PromiseWithResolvers<undefined> | undefined;
  let rest = haltAt ?? Infinity;
  const askedBy = new Set<string>();
  const send = async (response: ServerResponse, part: Buffer): Promise<void> => {
    for (let at = 0; at < part.length && !response.destroyed; at += CHUNK) {
      await halted?.promise;
      const chunk = part.subarray(at, at + CHUNK);
      sent += chunk.length;
      rest -= chunk.length;
      if (rest <= 0) halted ??= Promise.withResolvers<undefined>();
      await new Promise((resolve) => response.write(chunk, resolve));
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
    go() {
      rest = Infinity;
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
