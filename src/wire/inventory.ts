import { create } from "@bufbuild/protobuf";
import { bytes, gpuUuid } from "../core/ids.ts";
import {
  type EngineBuild,
  type EngineOrigin,
  type Fabric,
  type FabricPort,
  type Gpu,
  type HeldModel,
  type Inventory,
  LINK_KINDS,
} from "../core/node.ts";
import {
  type EngineBuild as WireEngineBuild,
  EngineBuildSchema,
  type Fabric as WireFabric,
  type FabricPort as WireFabricPort,
  FabricPortSchema,
  FabricSchema,
  type Gpu as WireGpu,
  GpuSchema,
  type HeldModel as WireHeldModel,
  HeldModelSchema,
  type Inventory as WireInventory,
  InventorySchema,
} from "./gen/llmgw/v1/common_pb.js";
import { withoutSecretForms } from "../core/secret-forms.ts";
import { factsFromWire, factsToWire } from "./model-facts.ts";
import { toText, toUint32 } from "./scalar.ts";

const ORIGINS: readonly EngineOrigin[] = ["configured", "path", "opt", "installed"];

export function inventoryToWire(inventory: Inventory): WireInventory {
  return create(InventorySchema, {
    ...inventory,
    cpus: toUint32(inventory.cpus),
    disks: inventory.disks.map((disk) => ({ ...disk })),
    gpus: inventory.gpus.map(gpuToWire),
    engines: inventory.engines.map(engineBuildToWire),
    weights: inventory.weights.map(heldModelToWire),
    fabrics: inventory.fabrics.map(fabricToWire),
    labels: { ...inventory.labels },
    problems: inventory.problems.map(toText),
    notes: inventory.notes.map(toText),
  });
}

/** Total: what a message leaves out is empty or 0. */
export function inventoryFromWire(message: WireInventory): Inventory {
  return {
    hostname: message.hostname,
    address: message.address,
    agentVersion: message.agentVersion,
    os: message.os,
    arch: message.arch,
    cpus: message.cpus,
    memoryTotal: bytes(message.memoryTotal),
    memoryAvailable: bytes(message.memoryAvailable),
    disks: message.disks.map(({ path, total, free }) => ({ path, total: bytes(total), free: bytes(free) })),
    gpus: message.gpus.map(gpuFromWire),
    engines: message.engines.map(engineBuildFromWire),
    weights: message.weights.map(heldModelFromWire),
    fabrics: message.fabrics.map(fabricFromWire),
    labels: { ...message.labels },
    // An address with a password in it is a thing that tools like to print.
    problems: message.problems.map(withoutSecretForms),
    notes: message.notes.map(withoutSecretForms),
  };
}

export function gpuToWire(gpu: Gpu): WireGpu {
  const { numaNode, parent = "", problem = "", ...rest } = gpu;
  return create(GpuSchema, {
    ...rest,
    ...numaToWire(numaNode),
    index: toUint32(gpu.index),
    problem: toText(problem),
    parent,
    links: gpu.links.map(({ to, kind, lanes }) => ({ to, kind, lanes: toUint32(lanes) })),
  });
}

const numaToWire = (numaNode: number | undefined): { numaNode?: number } =>
  numaNode === undefined ? {} : { numaNode: toUint32(numaNode) };

export function gpuFromWire(message: WireGpu): Gpu {
  return {
    uuid: gpuUuid(message.uuid),
    index: message.index,
    name: message.name,
    memoryTotal: bytes(message.memoryTotal),
    memoryFree: bytes(message.memoryFree),
    unified: message.unified,
    problem: message.problem === "" ? undefined : message.problem,
    driverVersion: message.driverVersion,
    computeCapability: message.computeCapability,
    pciBusId: message.pciBusId,
    numaNode: message.numaNode,
    links: message.links.map(({ to, kind, lanes }) => ({
      to: gpuUuid(to),
      kind: LINK_KINDS.find((known) => known === kind) ?? "unknown",
      lanes,
    })),
    parent: message.parent === "" ? undefined : gpuUuid(message.parent),
  };
}

const fabricToWire = ({ name, hcas, rateGbps, ports, problem = "" }: Fabric): WireFabric =>
  create(FabricSchema, {
    name,
    hcas: [...hcas],
    rateGbps: toUint32(rateGbps),
    ports: ports.map(fabricPortToWire),
    problem: toText(problem),
  });

const fabricPortToWire = ({ numaNode, addresses, port, ...rest }: FabricPort): WireFabricPort =>
  create(FabricPortSchema, { ...rest, ...numaToWire(numaNode), port: toUint32(port), addresses: [...addresses] });

const fabricFromWire = ({ name, hcas, rateGbps, ports, problem }: WireFabric): Fabric => ({
  name,
  hcas: [...hcas],
  rateGbps,
  ports: ports.map(fabricPortFromWire),
  problem: problem === "" ? undefined : problem,
});

const fabricPortFromWire = (message: WireFabricPort): FabricPort => ({
  hca: message.hca,
  port: message.port,
  state: message.state,
  linkLayer: message.linkLayer,
  rateGbps: message.rateGbps,
  pciBusId: message.pciBusId,
  numaNode: message.numaNode,
  addresses: [...message.addresses],
});

export const engineBuildToWire = (build: EngineBuild): WireEngineBuild =>
  create(EngineBuildSchema, { ...build, devices: [...build.devices] });

function engineBuildFromWire({ name, version, origin, path, devices }: WireEngineBuild): EngineBuild {
  // A newer agent's word for where it found the build: the least preferred of ours promises the least.
  const known = ORIGINS.find((ours) => ours === origin) ?? "installed";
  return { name, version, origin: known, path, devices: [...devices] };
}

const heldModelToWire = ({ source, path, bytes: size, facts }: HeldModel): WireHeldModel =>
  create(HeldModelSchema, {
    ...{ source, path, bytes: size },
    ...(facts === undefined ? {} : { facts: factsToWire(facts) }),
  });

function heldModelFromWire({ source, path, bytes: size, facts: said }: WireHeldModel): HeldModel {
  const facts = said === undefined ? undefined : factsFromWire(said);
  return { source, path, bytes: bytes(size), ...(facts === undefined ? {} : { facts }) };
}
