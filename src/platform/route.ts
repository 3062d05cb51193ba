import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";

export interface InterfaceAddress {
  readonly interface: string;
  readonly address: string;
  readonly family: "IPv4" | "IPv6";
  readonly loopback: boolean;
}

/** The addresses of the interfaces that are up, in the system's order. */
export function listAddresses(): readonly InterfaceAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? []).map(({ address, family, internal }) => ({
      interface: name,
      address,
      family,
      loopback: internal,
    })),
  );
}

/**
 * The address that packets to the host would come from. A UDP socket is connected, which asks the kernel's routes and sends
 * nothing. The error says why there is no answer, such as a name that does not resolve.
 */
export async function sourceAddressTo(host: string): Promise<Result<string, string>> {
  try {
    const { address, family } = await lookup(host);
    return ok(await connectedAddress(address, family));
  } catch (error) {
    return err(messageOf(error));
  }
}

function connectedAddress(address: string, family: number): Promise<string> {
  const socket = createSocket(family === 6 ? "udp6" : "udp4");
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      socket.close(settle);
    };
    socket.once("error", (error) => {
      finish(() => {
        reject(error);
      });
    });
    // The port is of no matter: only the route is asked for.
    socket.connect(9, address, () => {
      const source = socket.address().address;
      finish(() => {
        resolve(source);
      });
    });
  });
}
