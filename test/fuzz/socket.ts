import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Long enough for an answer on one machine; who says nothing to nonsense is left then, not waited for. */
const PATIENCE_MS = 150;

/**
 * Sends the pieces on a connection of their own, and answers what came back until the other end closed it, `isEnough` said
 * so, or patience ended. A connection that is refused or reset has answered as well.
 */
export async function exchange(
  port: number,
  pieces: readonly Uint8Array[],
  isEnough: (received: Buffer) => boolean = () => false,
): Promise<Buffer> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  const received: Buffer[] = [];
  await new Promise<void>((resolve) => {
    const patience = setTimeout(resolve, PATIENCE_MS);
    socket.on("connect", () => {
      for (const piece of pieces) socket.write(piece);
    });
    socket.on("data", (chunk: Buffer) => {
      received.push(chunk);
      if (isEnough(Buffer.concat(received))) resolve();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(patience);
      resolve();
    });
  });
  socket.destroy();
  return Buffer.concat(received);
}

/** What a client sends to the port through `use`, byte for byte. */
export async function recorded(port: number, use: (port: number) => Promise<void>): Promise<Buffer> {
  const sent: Buffer[] = [];
  const sockets: Socket[] = [];
  const between = createServer((near) => {
    const far = connect({ host: "127.0.0.1", port });
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on("error", () => undefined);
    near.on("data", (chunk: Buffer) => sent.push(chunk));
    near.pipe(far).pipe(near);
  });
  between.listen(0, "127.0.0.1");
  await once(between, "listening");
  const address = between.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  await use(address.port);
  for (const socket of sockets) socket.destroy();
  between.close();
  return Buffer.concat(sent);
}
