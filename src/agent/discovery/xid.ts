import { pciAddress } from "./pci.ts";

/** What the driver wrote into the kernel's log of a card that will not do until something is done to it. */
export interface CardFault {
  readonly pciBusId: string;
  readonly sentence: string;
}

/**
 * The Xids after which the card itself is at fault. The others are of programs (13, 31, 43, 45 and their like), or count
 * what was put right (63, 92, 94).
 */
const GRAVE: Readonly<Record<number, string>> = {
  48: "an uncorrected memory error",
  64: "a faulty row of memory could not be replaced",
  79: "it has fallen off the bus",
  95: "an uncorrected memory error that was not contained",
  119: "its firmware does not answer",
  120: "its firmware failed",
  140: "an uncorrected memory error",
};
/** The driver's own word for what a card needs. */
const RECOVERY_ACTION = 154;

const XID = /NVRM: Xid \(PCI:([0-9a-f:.]+)\): (\d{1,5})(?:, (.*))?$/i;
/** All that was written before it is of a driver that is gone. */
const DRIVER_LOADED = /NVRM: loading NVIDIA UNIX/;

/** The last grave fault of each card since its driver was loaded. */
export function cardFaults(lines: readonly string[]): readonly CardFault[] {
  const faults = new Map<string, string>();
  for (const line of lines) {
    if (DRIVER_LOADED.test(line)) faults.clear();
    const match = XID.exec(line.trim());
    if (match === null) continue;
    const [, place = "", digits = "", words = ""] = match;
    note(faults, pciAddress(place), { xid: Number(digits), words });
  }
  return [...faults].map(([pciBusId, sentence]) => ({ pciBusId, sentence }));
}

interface Xid {
  readonly xid: number;
  readonly words: string;
}

function note(faults: Map<string, string>, card: string, { xid, words }: Xid): void {
  if (card === "") return;
  if (xid === RECOVERY_ACTION) {
    const action = / to 0x[0-9a-f]+ \(([^)]{1,60})\)/i.exec(words)?.[1];
    if (action === "None") faults.delete(card);
    else if (action !== undefined) faults.set(card, `the driver says (Xid 154): ${action}`);
    return;
  }
  const meaning = GRAVE[xid];
  if (meaning === undefined || faults.has(card)) return;
  faults.set(
    card,
    `${meaning} (Xid ${String(xid)}). Reset it (nvidia-smi --gpu-reset) and load its driver again, or start the machine again`,
  );
}
