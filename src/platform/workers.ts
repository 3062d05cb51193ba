import { fork } from "node:child_process";
import { createServer } from "node:net";

/** One of the processes that share a port. */
export interface WorkerProcess {
  readonly pid: number;
  /** Nothing, when it is gone already. */
  send(message: object): void;
  kill(): void;
}

interface WorkerListener {
  readonly onMessage: (message: unknown) => void;
  /** Once; how it ended, in words. */
  readonly onExit: (how: string) => void;
}

/**
 * Starts a program of ours as a worker. Workers listen on one port by SO_REUSEPORT, so that no process stands between them and
 * their clients: of 64 connections two workers got 36 and 28. Node's cluster gives 33 and 31, but a connection on its way to
 * a worker that ends stays open and unanswered there.
 */
export function startWorker(program: string, { onMessage, onExit }: WorkerListener): WorkerProcess {
  const child = fork(program, [], { serialization: "advanced" });
  child.on("message", onMessage);
  // What cannot be sent is noticed by the exit.
  child.on("error", () => undefined);
  child.once("exit", (code, signal) => {
    onExit(signal === null ? `with status ${String(code)}` : `by ${signal}`);
  });
  return {
    pid: child.pid ?? 0,
    send: (message) => {
      if (child.connected) child.send(message);
    },
    kill: () => {
      child.kill("SIGKILL");
    },
  };
}

/**
 * The port itself, or a free one for 0, found to be nobody's: workers would share it with another program's workers unasked.
 * Rejects with the system's error when it cannot be had.
 */
export function unsharedPort({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        resolve(address !== null && typeof address === "object" ? address.port : port);
      });
    });
  });
}

/** A worker's way to the process that has started it. */
export interface PrimaryLine {
  send(message: object): void;
  /** No more is heard; the process may end when nothing else keeps it. */
  hangUp(): void;
}

interface PrimaryListener {
  readonly onMessage: (message: unknown) => void;
  /** The process that has started this one is gone. */
  readonly onGone: () => void;
}

/** Undefined: this process is nobody's worker. Signals are left to the primary: a terminal sends them to all. */
export function listenToPrimary({ onMessage, onGone }: PrimaryListener): PrimaryLine | undefined {
  if (process.send === undefined) return undefined;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
  process.on("message", onMessage);
  process.on("disconnect", onGone);
  return {
    send: (message) => {
      if (process.connected) process.send?.(message);
    },
    hangUp: () => {
      process.off("disconnect", onGone);
      if (process.connected) process.disconnect?.();
    },
  };
}
