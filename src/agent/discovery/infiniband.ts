import type { FabricPort } from "../../core/node.ts";
import { numaNodeIn, pciAddress } from "./pci.ts";

/** The texts that the kernel shows of one port. Undefined: there is no such file, or it cannot be read. */
export interface PortTexts {
  readonly hca: string;
  readonly port: number;
  readonly state: string | undefined;
  readonly physState: string | undefined;
  readonly rate: string | undefined;
  readonly linkLayer: string | undefined;
  readonly gids: readonly string[];
  readonly device: string | undefined;
  readonly numaNode: string | undefined;
}

/** A port with what a verdict needs and nobody else. */
export interface IbPort extends FabricPort {
  /** Its subnet manager or switch has brought it up and its cable has light. */
  readonly isUp: boolean;
  readonly physState: string;
  /** The words after the number, such as "4X NDR". */
  readonly rateWords: string;
}

export function portOf(texts: PortTexts, addresses: readonly string[]): IbPort {
  const state = stateIn(texts.state);
  const phys = stateIn(texts.physState);
  const linkLayer = plain(texts.linkLayer);
  const rate = rateIn(texts.rate);
  return {
    hca: texts.hca,
    port: texts.port,
    state: state.word,
    physState: phys.word,
    // The numbers are what stays the same from kernel to kernel. Some drivers of virtual adapters have no phys_state.
    isUp: state.number === ACTIVE && (phys.number === LINK_UP || phys.number === undefined),
    linkLayer: linkLayer === "" ? "Unknown" : linkLayer,
    rateGbps: rate.gbps,
    rateWords: rate.words,
    pciBusId: pciAddress(texts.device ?? ""),
    numaNode: numaNodeIn(texts.numaNode),
    addresses: [...new Set([...texts.gids.flatMap(addressInGid), ...addresses])],
  };
}

const ACTIVE = 4;
const LINK_UP = 5;

/** "4: ACTIVE" */
function stateIn(text: string | undefined): { readonly number: number | undefined; readonly word: string } {
  const match = /^(\d{1,3}): *([\w ]{1,40})$/.exec(plain(text));
  return match === null ? { number: undefined, word: "" } : { number: Number(match[1]), word: (match[2] ?? "").trim() };
}

/** "400 Gb/sec (4X NDR)" */
function rateIn(text: string | undefined): { readonly gbps: number; readonly words: string } {
  const match = /^(\d{1,6}(?:\.\d+)?) ?Gb\/sec(?: ?\(([\w ]{1,20})\))?/.exec(plain(text));
  return match === null ? { gbps: 0, words: "" } : { gbps: Number(match[1]), words: match[2] ?? "" };
}

/** An IPv4 address travels in a GID as ::ffff:a.b.c.d. Of the others only global ones are addresses that a peer can use. */
function addressInGid(gid: string): readonly string[] {
  const groups = gid.trim().toLowerCase().split(":");
  if (groups.length !== 8 || !groups.every((group) => /^[0-9a-f]{4}$/.test(group))) return [];
  const mapped = groups.slice(0, 5).every((group) => group === "0000") && groups[5] === "ffff";
  if (!mapped) return [];
  const numbers = groups.slice(6).flatMap((group) => [parseInt(group.slice(0, 2), 16), parseInt(group.slice(2), 16)]);
  return [numbers.join(".")];
}

const plain = (text: string | undefined): string => (text ?? "").replace(/[^\x20-\x7e]/g, "").trim();
