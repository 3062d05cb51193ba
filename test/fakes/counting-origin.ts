import type { ServerResponse } from "node:http";
import { beginContent, startFileServer } from "./file-server.ts";

export interface CountingOrigin {
  /** Of the one file that there is. */
  readonly url: string;
  /** Bytes of the file that were sent. */
  readonly sent: number;
  /** Ends the halt for good. */
  go(): void;
  close(): Promise<void>;
}

const CHUNK = 256 * 1024;

/** A file host that answers ranges and counts what it sends. After `haltAt` bytes it comes to a halt until it is told to go on. */
export async function countingOrigin(data: Buffer, { haltAt = Infinity } = {}): Promise<CountingOrigin> {
  let sent = 0;
  const told = Promise.withResolvers<undefined>();
  const send = async (response: ServerResponse, part: Buffer): Promise<void> => {
    for (let at = 0; at < part.length && !response.destroyed; at += CHUNK) {
      if (sent >= haltAt) await told.promise;
      const chunk = part.subarray(at, at + CHUNK);
      sent += chunk.length;
      await new Promise((resolve) => response.write(chunk, resolve));
    }
    response.end();
  };
  const server = await startFileServer((request, response) => {
    response.on("error", () => undefined);
    const part = beginContent(request, response, { bytes: data, etag: '"one"' });
    void send(response, part ?? Buffer.alloc(0));
  });
  const go = (): void => {
    told.resolve(undefined);
  };
  return {
    url: `${server.origin}/model.gguf`,
    get sent() {
      return sent;
    },
    go,
    async close() {
      go();
      await server.close();
    },
  };
}
