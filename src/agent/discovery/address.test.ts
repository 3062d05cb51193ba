import { describe, expect, test } from "vitest";
import type { InterfaceAddress } from "../../platform/route.ts";
import { type AddressFacts, chooseAddress, isLinkLocal } from "./address.ts";

const lo: InterfaceAddress = { interface: "lo", address: "127.0.0.1", family: "IPv4", loopback: true };
const on = (name: string, address: string): InterfaceAddress => ({
  interface: name,
  address,
  family: address.includes(":") ? "IPv6" : "IPv4",
  loopback: false,
});
const plain: AddressFacts = {
  configured: undefined,
  interface: undefined,
  routed: "192.0.2.10",
  addresses: [lo, on("eth0", "192.0.2.10"), on("ib0", "198.51.100.10")],
};

test.each<{ name: string; facts: Partial<AddressFacts>; want: string | undefined }>([
  { name: "the route to the control plane", facts: {}, want: "192.0.2.10" },
  { name: "a control plane on the same machine", facts: { routed: "127.0.0.1" }, want: "127.0.0.1" },
  {
    name: "an address that was named, although no interface has it",
    facts: { configured: "203.0.113.9" },
    want: "203.0.113.9",
  },
  { name: "an interface that was named", facts: { interface: "ib0" }, want: "198.51.100.10" },
  { name: "no route: an interface's address rather than none", facts: { routed: undefined }, want: "192.0.2.10" },
  {
    name: "IPv4 before IPv6",
    facts: { routed: undefined, addresses: [on("eth0", "2001:db8::1"), on("eth1", "192.0.2.2")] },
    want: "192.0.2.2",
  },
  {
    name: "B18 a link-local source gives way to a real address",
    facts: { routed: "169.254.30.2", addresses: [lo, on("eth0", "169.254.30.2"), on("eth1", "192.0.2.2")] },
    want: "192.0.2.2",
  },
  {
    name: "B18 only link-local is none",
    facts: { routed: "169.254.30.2", addresses: [lo, on("eth0", "169.254.30.2")] },
    want: undefined,
  },
  {
    name: "B18 nor an IPv6 one",
    facts: { routed: "fe80::1", addresses: [lo, on("eth0", "fe80::1")] },
    want: undefined,
  },
  { name: "an interface that is not there", facts: { interface: "eth9" }, want: undefined },
  { name: "no network at all", facts: { routed: undefined, addresses: [lo] }, want: undefined },
])("$name", ({ facts, want }) => {
  const { address, problems } = chooseAddress({ ...plain, ...facts });
  expect(address).toBe(want);
  expect(problems).toHaveLength(want === undefined ? 1 : 0);
});

describe("reasons", () => {
  test("B18 names the interface that has only a link-local address", () => {
    const facts = { ...plain, routed: "169.254.30.2", addresses: [lo, on("eth0", "169.254.30.2")] };
    expect(chooseAddress(facts).problems[0]).toContain("169.254.30.2 on eth0");
  });

  test("names the interfaces there are", () => {
    expect(chooseAddress({ ...plain, interface: "eth9" }).problems[0]).toBe(
      "mgmt_interface: there is no interface eth9 with an address; there are lo, eth0, ib0",
    );
  });
});

test.each([
  { address: "169.254.0.1", local: true },
  { address: "169.25.4.1", local: false },
  { address: "fe80::1", local: true },
  { address: "febf::1", local: true },
  { address: "fec0::1", local: false },
  { address: "fe8::1", local: false },
])("$address", ({ address, local }) => {
  expect(isLinkLocal(address)).toBe(local);
});
