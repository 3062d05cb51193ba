import { connect, createServer, type Socket } from "node:net";
import { messageOf } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";

/** A port on which one line is answered with one line. */
export interface Meeting {
  /** Resolves when the port is free again for whoever comes next. */
  close(): Promise<void>;
}

/** A line is a few hundred bytes; more is no answer of ours. */
const MOST_BYTES = 4096;
/** Whoever connects and says nothing is not one of us. */
const IDLE_MS = 10_000;

/** Answers every caller with what `answer` makes of its line; undefined: hangs up. The error is the system's, in words. */
export function openMeeting(
  place: { readonly host: string; readonly port: number },
  answer: (line: string) => string | undefined,
): Promise<Result<Meeting, string>> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
    onLine(socket, (line) => {
      const said = answer(line);
      if (said === undefined) socket.resetAndDestroy();
      else socket.write(`${said}\n`);
    });
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
      // A connection that is closed in an orderly way would keep the port for another minute.
      for (const socket of sockets) socket.resetAndDestroy();
    });
  return new Promise((resolve) => {
    server.once("error", (error) => {
      resolve(err(messageOf(error)));
    });
    server.listen(place, () => {
      resolve(ok({ close }));
    });
  });
}

interface Call {
  readonly host: string;
  readonly port: number;
  readonly line: string;
  readonly timeout: Millis;
  readonly signal: AbortSignal;
}

/** Says one line and resolves to the answer. The error says why there was none. */
export function callMeeting({ host, port, line, timeout, signal }: Call): Promise<Result<string, string>> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    const finish = (result: Result<string, string>): void => {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
      // The caller hangs up first, and without ceremony, so that neither side's port is kept by the system.
      socket.resetAndDestroy();
      resolve(result);
    };
    const timer = setTimeout(() => {
      finish(err(`no answer within ${String(timeout / 1000)} s`));
    }, timeout);
    const onAbort = (): void => {
      finish(err("given up"));
    };
    signal.addEventListener("abort", onAbort);
    socket.on("connect", () => socket.write(`${line}\n`));
    socket.on("error", (error) => {
      finish(err(messageOf(error)));
    });
    socket.on("close", () => {
      finish(err("it hung up without an answer"));
    });
    onLine(socket, (answer) => {
      finish(ok(answer));
    });
  });
}

function onLine(socket: Socket, hear: (line: string) => void): void {
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    text += chunk;
    const end = text.indexOf("\n");
    if (end >= 0) hear(text.slice(0, end));
    else if (text.length > MOST_BYTES) socket.destroy();
    if (end >= 0) text = "";
  });
}
