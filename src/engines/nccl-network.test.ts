import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FabricPort } from "../core/node.ts";
import { exactHcas, exactInterface, withoutLoopback } from "./nccl-network.ts";

const port = (hca: string, more: Partial<FabricPort> = {}): FabricPort => ({
  hca,
  port: 1,
  state: "ACTIVE",
  linkLayer: "InfiniBand",
  rateGbps: 400,
  pciBusId: "",
  numaNode: undefined,
  addresses: [],
  ...more,
});

describe("adapters", () => {
  test("every active port by its whole name, and no other", () => {
    const ports = [port("mlx5_1"), port("mlx5_10", { port: 2 }), port("mlx5_2", { state: "DOWN" })];
    expect(exactHcas(ports)).toBe("=mlx5_1:1,mlx5_10:2");
  });

  test("B16 only the port on the replica's subnet", () => {
    const roce = (hca: string, address: string) => port(hca, { linkLayer: "Ethernet", addresses: [address] });
    const ports = [
      roce("rocep1s0f0", "192.0.2.2"),
      roce("roceP2p1s0f0", "169.254.10.1"),
      roce("roceP2p1s0f1", "198.51.100.13"),
    ];
    expect(exactHcas(ports, "198.51.100.0/24")).toBe("=roceP2p1s0f1:1");
    expect(exactHcas(ports, "203.0.113.0/24")).toBeUndefined();
  });

  test.each(["198.51.100.0", "x/24", "198.51.100.0/33", "198.51.100.0/", ""])("%j is no subnet", (subnet) => {
    expect(exactHcas([port("a", { addresses: ["198.51.100.13"] })], subnet)).toBeUndefined();
  });

  test("no port is no value: an empty one would let NCCL choose", () => {
    expect(exactHcas([])).toBeUndefined();
  });

  test("a subnet of every size holds its own address", () => {
    const address = fc.tuple(...[0, 1, 2, 3].map(() => fc.nat({ max: 255 }))).map((parts) => parts.join("."));
    fc.assert(
      fc.property(address, fc.nat({ max: 32 }), (own, bits) => {
        expect(exactHcas([port("a", { addresses: [own] })], `${own}/${String(bits)}`)).toBe("=a:1");
      }),
    );
  });
});

describe("interfaces", () => {
  const interfaces = [
    { interface: "lo", address: "127.0.0.1" },
    { interface: "docker0", address: "172.17.0.1" },
    { interface: "eth0", address: "192.0.2.10" },
    { interface: "ib0", address: "198.51.100.10" },
  ];

  test.each([
    { address: "192.0.2.10", want: "=eth0" },
    { address: "127.0.0.1", want: undefined },
    { address: "203.0.113.1", want: undefined },
  ])("B17 the one that peers reach the node by: $address", ({ address, want }) => {
    expect(exactInterface(address, interfaces)).toBe(want);
  });

  test.each([
    ["^docker0", "^docker0,lo"],
    ["^=docker0", "^=docker0,lo"],
    ["^lo,docker", "^lo,docker"],
    ["^docker,lo0", "^docker,lo0,lo"],
    ["eth0", "eth0"],
    ["=ib0", "=ib0"],
  ])("B17 %s becomes %s", (value, want) => {
    expect(withoutLoopback(value)).toBe(want);
  });
});
