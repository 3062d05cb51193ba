import { expect, test } from "vitest";
import { rayCases } from "../golden/cases.ts";
import { vllm } from "./index.ts";

const IPV6 = { masterHost: "fd00::11", masterPort: 41_900, ownAddress: "fd00::12" };

test.each([
  { name: "ray-head", host: "10.0.0.11", own: {}, address: "10.0.0.11:41900" },
  { name: "ray-worker", host: "10.0.0.11", own: {}, address: "10.0.0.11:41900" },
  { name: "ray-head", host: "fd00::11", own: IPV6, address: "[fd00::11]:41900" },
  { name: "ray-worker", host: "fd00::11", own: IPV6, address: "[fd00::11]:41900" },
])("the cluster's address, $name at $host", ({ name, own, address }) => {
  const found = rayCases({ binary: "/opt/vllm/bin/vllm", version: "0.33.0" }).find((one) => one.name === name);
  if (found?.launch.gang === undefined) throw new Error(`there is no case ${name}`);
  const { argv, env } = vllm.command({ ...found.launch, gang: { ...found.launch.gang, ...own } });
  expect(env["RAY_ADDRESS"]).toBe(address);
  const joined = argv.filter((word) => word.startsWith("--address="));
  expect(joined).toEqual(name === "ray-worker" ? [`--address=${address}`] : []);
  const nodeAddress = "ownAddress" in own ? own.ownAddress : found.launch.gang.ownAddress;
  expect(argv).toContain(`--node-ip-address=${nodeAddress}`);
});
