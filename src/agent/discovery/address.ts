import type { InterfaceAddress } from "../../platform/route.ts";

/** What is known about where a node could be reached. */
export interface AddressFacts {
  /** mgmt_addr: taken as it is. */
  readonly configured: string | undefined;
  /** mgmt_interface. */
  readonly interface: string | undefined;
  /** Where packets to the control plane come from; undefined when that could not be found out. */
  readonly routed: string | undefined;
  readonly addresses: readonly InterfaceAddress[];
}

export interface AddressChoice {
  /** Undefined: nothing that others could use. */
  readonly address: string | undefined;
  /** Sentences for people. */
  readonly problems: readonly string[];
}

/** First rule that gives an address wins. A link-local one never does: it means something only on its own wire. */
export function chooseAddress(facts: AddressFacts): AddressChoice {
  if (facts.configured !== undefined) return { address: facts.configured, problems: [] };
  if (facts.interface !== undefined) return onInterface(facts.interface, facts.addresses);
  const { routed } = facts;
  if (routed !== undefined && !isLinkLocal(routed)) return { address: routed, problems: [] };
  const other = firstUsable(facts.addresses.filter((address) => !address.loopback));
  if (other !== undefined) return { address: other.address, problems: [] };
  return { address: undefined, problems: [noAddress(facts)] };
}

function onInterface(name: string, all: readonly InterfaceAddress[]): AddressChoice {
  const own = all.filter((address) => address.interface === name);
  const usable = firstUsable(own);
  if (usable !== undefined) return { address: usable.address, problems: [] };
  const names = [...new Set(all.map((address) => address.interface))].join(", ");
  const why =
    own.length === 0
      ? `there is no interface ${name} with an address; there are ${names}`
      : `the interface ${name} has only link-local addresses (${own.map(({ address }) => address).join(", ")})`;
  return { address: undefined, problems: [`mgmt_interface: ${why}`] };
}

/** IPv4 first: every engine and every router speaks it. */
function firstUsable(addresses: readonly InterfaceAddress[]): InterfaceAddress | undefined {
  const usable = addresses.filter(({ address }) => !isLinkLocal(address));
  return usable.find(({ family }) => family === "IPv4") ?? usable[0];
}

function noAddress({ addresses }: AddressFacts): string {
  const local = addresses.filter(({ address, loopback }) => !loopback && isLinkLocal(address));
  if (local.length === 0) return "no network interface has an address, so engines here cannot be reached";
  const shown = local.map(({ address, interface: name }) => `${address} on ${name}`).join(", ");
  return `only link-local addresses (${shown}), which other machines cannot use: give the interface an address, or set mgmt_addr`;
}

export function isLinkLocal(address: string): boolean {
  return /^fe[89ab][0-9a-f]:/i.test(address) || address.startsWith("169.254.");
}
