import { linkedName, listEntries, readAttribute } from "../../platform/sysfs.ts";
import { parseDriverVersion } from "./driver.ts";
import type { PciGpu } from "./gpu-set.ts";
import { numaNodeIn, pciAddress } from "./pci.ts";

/** What the kernel says of NVIDIA's driver and cards, whoever else can be asked. */
export interface DriverEvidence {
  /** Undefined: none is loaded. "" where it does not say its version. */
  readonly version: string | undefined;
  /** Its device files, such as nvidiactl and nvidia0; dxg stands for Windows' driver beneath WSL. */
  readonly devices: readonly string[];
  readonly cards: readonly PciGpu[];
}

export interface DriverReader {
  read(): Promise<DriverEvidence>;
}

/** `root` stands before /proc, /sys and /dev. */
export function createDriverReader(root: string): DriverReader {
  // What a device is does not change while it sits at its address.
  const isGpuAt = new Map<string, boolean>();
  return {
    async read() {
      const [loaded, module, devices, cards] = await Promise.all([
        readAttribute(`${root}/proc/driver/nvidia/version`),
        readAttribute(`${root}/sys/module/nvidia/version`),
        listEntries(`${root}/dev`),
        readCards(`${root}/sys/bus/pci/devices`, isGpuAt),
      ]);
      const version = loaded === undefined ? module : parseDriverVersion(loaded) || (module ?? "");
      const ours = (devices.ok ? devices.value : []).filter((name) => /^(nvidia(ctl|-uvm|\d+)|dxg)$/.test(name));
      return { version, devices: ours, cards };
    },
  };
}

async function readCards(folder: string, isGpuAt: Map<string, boolean>): Promise<readonly PciGpu[]> {
  const names = await listEntries(folder);
  const addresses = names.ok ? names.value : [];
  const cards = await Promise.all(
    addresses.map(async (address): Promise<readonly PciGpu[]> => {
      const isGpu = isGpuAt.get(address) ?? (await isNvidiaGpu(`${folder}/${address}`));
      isGpuAt.set(address, isGpu);
      const place = pciAddress(address);
      if (!isGpu || place === "") return [];
      return [{ pciBusId: place, numaNode: numaNodeIn(await readAttribute(`${folder}/${address}/numa_node`)) }];
    }),
  );
  return cards.flat();
}

/** Class 03 is display: 0300 with outputs, 0302 without. Its sound and USB parts are other classes. */
async function isNvidiaGpu(device: string): Promise<boolean> {
  const [vendor, kind] = await Promise.all([readAttribute(`${device}/vendor`), readAttribute(`${device}/class`)]);
  if (vendor !== "0x10de" || kind?.startsWith("0x03") !== true) return false;
  // Handed to a virtual machine: nobody here can use it, and nobody here misses it.
  return (await linkedName(`${device}/driver`)) !== "vfio-pci";
}

export const isLoaded = ({ version, devices }: DriverEvidence): boolean =>
  version !== undefined || devices.includes("dxg");

/** Whether programs could reach a driver at all; containers may hide everything but its device files. */
export const isReachable = (evidence: DriverEvidence): boolean => isLoaded(evidence) || evidence.devices.length > 0;

/** What is wrong with the driver, in words; undefined when nothing can be seen to be. */
export function driverProblem(evidence: DriverEvidence): string | undefined {
  const { version, devices, cards } = evidence;
  if (isLoaded(evidence)) {
    if (version === undefined || devices.includes("nvidiactl")) return undefined;
    const named = version === "" ? "" : ` ${version}`;
    return `driver: the NVIDIA driver${named} is loaded, but there is no /dev/nvidiactl: run nvidia-modprobe, or give this container the GPUs' device files`;
  }
  if (cards.length === 0 || devices.length > 0) return undefined;
  const places = cards.map(({ pciBusId }) => pciBusId).join(", ");
  return `driver: no NVIDIA driver is loaded, although there are NVIDIA GPUs (${places}): run modprobe nvidia, and see in the kernel's log why it was not loaded`;
}
