import type { FabricPort } from "../core/node.ts";

/** An interface's address on this node. */
interface Interface {
  readonly interface: string;
  readonly address: string;
}

/**
 * NCCL_IB_HCA for a node: exactly the active ports of its own that are on the fabric, such as "=mlx5_0:1,mlx5_3:1". The sign
 * makes names whole ones: without it mlx5_1 also means mlx5_10. With a subnet, such as 198.51.100.0/24, only the ports
 * that have an address in it. Undefined: none, and NCCL must not choose for itself.
 */
export function exactHcas(ports: readonly FabricPort[], subnet?: string): string | undefined {
  const usable = ports.filter(
    ({ state, addresses }) =>
      state.toUpperCase() === "ACTIVE" &&
      (subnet === undefined || addresses.some((address) => isInSubnet(address, subnet))),
  );
  const names = usable.map(({ hca, port }) => `${hca}:${String(port)}`);
  return names.length === 0 ? undefined : `=${names.join(",")}`;
}

/**
 * NCCL_SOCKET_IFNAME for a node: exactly the interface that has the address by which its peers reach it. Undefined where no
 * interface has it, and where it is loopback's, on which ranks of several nodes would wait for each other for ever.
 */
export function exactInterface(address: string, interfaces: readonly Interface[]): string | undefined {
  const name = interfaces.find((candidate) => candidate.address === address)?.interface;
  return name === undefined || isLoopback(name) ? undefined : `=${name}`;
}

/** A user's list of what not to take, with loopback added: what is not excluded may be chosen. */
export function withoutLoopback(value: string): string {
  if (!value.startsWith("^")) return value;
  const names = value.replace(/^\^=?/, "").split(",");
  return names.includes("lo") ? value : `${value},lo`;
}

const isLoopback = (name: string): boolean => name === "lo";

function isInSubnet(address: string, subnet: string): boolean {
  const [network = "", length = ""] = subnet.split("/");
  const [own, base, bits] = [ipv4(address), ipv4(network), Number(length)];
  if (own === undefined || base === undefined || !/^\d{1,2}$/.test(length) || bits > 32) return false;
  const size = 2 ** (32 - bits);
  return Math.floor(own / size) === Math.floor(base / size);
}

function ipv4(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}
