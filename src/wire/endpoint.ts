import type { Endpoint } from "../core/replica-state.ts";
import { toUint32 } from "./scalar.ts";

interface WireEndpoint {
  readonly host: string;
  readonly port: number;
  readonly tlsSha256: string;
}

/** Of whatever message says where an engine answers. */
export const endpointToWire = ({ host, port, tlsSha256 = "" }: Endpoint): WireEndpoint => ({
  ...{ host, port: toUint32(port), tlsSha256 },
});

export const endpointFromWire = ({ host, port, tlsSha256 }: WireEndpoint): Endpoint => ({
  ...{ host, port },
  ...(tlsSha256 === "" ? {} : { tlsSha256 }),
});
