import { findCgroupHomes } from "../platform/cgroup.ts";
import { listAddresses } from "../platform/route.ts";
import { HANG_POLICY } from "../reconcile/hang.ts";
import { LOG_LIMIT } from "./log-limit.ts";
import { THIS_MACHINE } from "./machine.ts";
import type { NodeContext } from "./node-context.ts";

/** What is the same on every node; a test may choose otherwise. */
export type Defaulted =
  | "machine"
  | "cgroupHomes"
  | "hangPolicy"
  | "logLimit"
  | "interfaces"
  | "fabricPorts"
  | "engineOptions"
  | "engineTls"
  | "gpus";

export function nodeDefaults(): Pick<NodeContext, Defaulted> {
  let homes: Promise<readonly string[]> | undefined;
  return {
    machine: THIS_MACHINE,
    cgroupHomes: () => (homes ??= findCgroupHomes()),
    hangPolicy: HANG_POLICY,
    logLimit: LOG_LIMIT,
    interfaces: listAddresses,
    fabricPorts: () => [],
    engineOptions: () => ({}),
    engineTls: false,
    gpus: () => [],
  };
}
