import type { Socket } from "node:net";
import type { Millis } from "../core/ids.ts";

/** HTTP/2 without TLS begins with these bytes; no HTTP/1.1 method does. */
const HTTP2_PREFACE = Buffer.from("PRI");

/**
 * Calls back once when the first bytes of a fresh connection tell the protocol; they are put back to be read again. A
 * connection that says nothing for the whole time is closed.
 */
export function whenProtocolKnown(
  socket: Socket,
  patience: Millis,
  known: (protocol: "http1" | "http2") => void,
): void {
  let seen: Buffer = Buffer.alloc(0);
  const onSilence = (): void => {
    socket.destroy();
  };
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) {
      // The other side ended before it said enough.
      if (socket.readableEnded) socket.destroy();
      else socket.once("readable", onReadable);
      return;
    }
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const couldBeHttp2 = HTTP2_PREFACE.subarray(0, seen.length).equals(seen.subarray(0, HTTP2_PREFACE.length));
    if (couldBeHttp2 && seen.length < HTTP2_PREFACE.length) {
      socket.once("readable", onReadable);
      return;
    }
    socket.setTimeout(0);
    socket.off("timeout", onSilence);
    socket.off("end", onSilence);
    socket.unshift(seen);
    known(couldBeHttp2 ? "http2" : "http1");
  };
  socket.setTimeout(patience, onSilence);
  socket.once("end", onSilence);
  socket.once("readable", onReadable);
}
