import { createServer } from "node:net";
import { isErrno } from "./files.ts";
import type { Lock } from "./lock.ts";

/**
 * Holds a name that only one process of the machine can have: a socket of the kernel's own, which needs no disk and is gone
 * with its process. Undefined: another has it. Where the system knows no such names, nothing is held and nobody is refused.
 */
export function holdName(name: string): Promise<Lock | undefined> {
  return new Promise((resolve) => {
    const socket = createServer((visitor) => visitor.destroy());
    const nothing: Lock = { release: () => Promise.resolve() };
    socket.once("error", (error) => {
      resolve(isErrno(error, "EADDRINUSE") ? undefined : nothing);
    });
    // A path that begins with NUL is a name and no file.
    socket.listen({ path: `\0${name}` }, () => {
      socket.unref();
      const release = (): Promise<void> =>
        new Promise((done) =>
          socket.close(() => {
            done();
          }),
        );
      resolve({ release });
    });
  });
}
