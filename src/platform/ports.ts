import { createServer } from "node:net";
import { readTextIfThere } from "./files.ts";

/** Whether the port can really be had: it is bound and given back. Another's connection that happens to use it counts too. */
export function isPortFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => {
      resolve(false);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The range that the kernel takes ports of outgoing connections from; undefined when it does not say. */
export async function readEphemeralRange(): Promise<PortRange | undefined> {
  const text = await readTextIfThere("/proc/sys/net/ipv4/ip_local_port_range").catch(() => undefined);
  const [first, last] = (text ?? "").trim().split(/\s+/).map(Number);
  if (first === undefined || last === undefined) return undefined;
  return Number.isInteger(first) && Number.isInteger(last) ? { first, last } : undefined;
}
