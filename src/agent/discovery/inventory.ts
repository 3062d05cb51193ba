import { bytes } from "../../core/ids.ts";
import type { Disk, EngineBuild, Fabric, HeldModel, Inventory } from "../../core/node.ts";
import { VERSION } from "../../core/version.ts";
import { readMemoryLimits } from "../../platform/cgroup.ts";
import { type HostFacts, readDisk, readHostFacts, readKernelFile } from "../../platform/host.ts";
import { type PortRange, readEphemeralRange } from "../../platform/ports.ts";
import { listAddresses, sourceAddressTo } from "../../platform/route.ts";
import { type AddressChoice, chooseAddress } from "./address.ts";
import type { FabricFindings } from "./fabrics.ts";
import type { GpuFindings } from "./gpus.ts";
import { type HostMemory, parseMeminfo, within, without } from "./meminfo.ts";
import { workDirProblems } from "./work-dir.ts";

/** What the configuration says about the node, and who knows the rest. */
export interface InventorySources {
  /** Host names or addresses of the control planes. */
  readonly controlPlanes: readonly string[];
  readonly mgmtAddr: string | undefined;
  readonly mgmtInterface: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly enginePorts: PortRange;
  /** Where starts are written down. */
  readonly workDir: string;
  /** Folders whose file systems matter: where weights land, and where else they lie. */
  readonly weightFolders: readonly string[];
  readonly readGpus: (host: HostMemory | undefined) => Promise<GpuFindings>;
  readonly readFabrics: () => Promise<FabricFindings>;
  readonly foundEngines: () => Promise<FoundEngines>;
  readonly heldWeights: () => Promise<readonly HeldModel[]>;
  /** What is wrong with them. */
  readonly weightProblems?: () => readonly string[];
}

export interface FoundEngines {
  readonly builds: readonly EngineBuild[];
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

/** Asks the machine everything anew. What cannot be found out is a problem in words, and no reason to say nothing. */
export async function gatherInventory(sources: InventorySources): Promise<Inventory> {
  const [facts, memory, address, disks, engines, weights, ephemeral, workDir, limits] = await Promise.all([
    readHostFacts(),
    readMemory(),
    readAddress(sources),
    Promise.all(sources.weightFolders.map(readDisk)),
    sources.foundEngines(),
    sources.heldWeights(),
    readEphemeralRange(),
    workDirProblems(sources.workDir),
    readMemoryLimits(),
  ]);
  const [gpus, fabrics] = await Promise.all([sources.readGpus(memory), sources.readFabrics()]);
  return {
    ...machine(facts, memory === undefined ? undefined : within(without(memory, gpus.countedTwice), limits)),
    address: address.address ?? "",
    agentVersion: VERSION,
    disks: distinctDisks(disks),
    gpus: gpus.gpus,
    engines: engines.builds,
    weights,
    fabrics: fabrics.fabrics,
    labels: sources.labels,
    problems: [
      ...(memory === undefined ? [NO_MEMINFO] : []),
      ...workDir,
      ...address.problems,
      ...gpus.problems,
      ...fabrics.problems,
      ...engines.problems,
      ...(sources.weightProblems?.() ?? []),
    ],
    notes: [
      ...gpus.notes,
      ...fabrics.notes,
      ...fabricAddressNotes(address.address, fabrics.fabrics),
      ...engines.notes,
      ...portNotes(sources.enginePorts, ephemeral),
    ],
  };
}

const NO_MEMINFO = "/proc/meminfo cannot be read, so how much memory there is is not known";

const machine = ({ hostname, os, arch, cpus }: HostFacts, memory: HostMemory | undefined) => ({
  hostname,
  os,
  arch,
  cpus,
  memoryTotal: memory?.total ?? bytes(0),
  memoryAvailable: memory?.available ?? bytes(0),
});

async function readMemory(): Promise<HostMemory | undefined> {
  const text = await readKernelFile("/proc/meminfo");
  return text === undefined ? undefined : parseMeminfo(text);
}

async function readAddress(sources: InventorySources): Promise<AddressChoice> {
  const needsRoute = sources.mgmtAddr === undefined && sources.mgmtInterface === undefined;
  const routes = needsRoute ? await Promise.all(sources.controlPlanes.map(sourceAddressTo)) : [];
  return chooseAddress({
    configured: sources.mgmtAddr,
    interface: sources.mgmtInterface,
    routed: routes.find((route) => route.ok)?.value,
    addresses: listAddresses(),
  });
}

function distinctDisks(disks: readonly (Disk | undefined)[]): readonly Disk[] {
  const byPath = new Map(disks.flatMap((disk) => (disk === undefined ? [] : [[disk.path, disk] as const])));
  return [...byPath.values()];
}

/** Ranks find each other over TCP before they move to the fabric, and clients come the same way. */
export function fabricAddressNotes(address: string | undefined, fabrics: readonly Fabric[]): readonly string[] {
  const fabric = fabrics.find(({ ports }) =>
    ports.some(({ addresses }) => address !== undefined && addresses.includes(address)),
  );
  if (address === undefined || fabric === undefined) return [];
  return [
    `the address ${address} belongs to the fabric ${fabric.name}: name one of the management network in mgmt_addr or mgmt_interface`,
  ];
}

/** Why an engine may not get the port that it would have had next. */
export function portNotes(range: PortRange, ephemeral: PortRange | undefined): readonly string[] {
  if (ephemeral === undefined || range.last < ephemeral.first || range.first > ephemeral.last) return [];
  const shown = ({ first, last }: PortRange): string => `${String(first)}-${String(last)}`;
  return [
    `engine_ports ${shown(range)} overlaps net.ipv4.ip_local_port_range ${shown(ephemeral)}: outgoing connections may take one of them; ports that are taken are passed over`,
  ];
}
