import type { Readable } from "node:stream";

/** Enough to keep the disk busy, little enough to hold for each connection. */
const HOLD_BYTES = 1024 * 1024;

/**
 * The body's chunks, each as soon as it arrived. A stream that is destroyed by a broken connection throws away what it
 * had received and nobody had read yet; here it is handed out first, and the error comes after.
 */
export function chunksOf(body: Readable): AsyncIterable<Buffer> {
  const queue: Buffer[] = [];
  let held = 0;
  let end: { readonly error: Error | undefined } | undefined;
  let wake: () => void = () => undefined;

  body.on("data", (chunk: Buffer) => {
    queue.push(chunk);
    held += chunk.length;
    if (held >= HOLD_BYTES) body.pause();
    wake();
  });
  const finish = (error: Error | undefined): void => {
    end ??= { error };
    wake();
  };
  body.once("end", () => {
    finish(undefined);
  });
  body.on("error", finish);
  body.once("close", () => {
    finish(new Error("the connection was closed"));
  });

  return {
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const chunk = queue.shift();
        if (chunk !== undefined) {
          held -= chunk.length;
          if (held < HOLD_BYTES && body.isPaused()) body.resume();
          yield chunk;
        } else if (end === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else {
          if (end.error !== undefined) throw end.error;
          return;
        }
      }
    },
  };
}
