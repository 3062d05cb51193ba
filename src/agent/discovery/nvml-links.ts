import type { LinkKind } from "../../core/node.ts";
import type { NvmlAnswer, NvmlCard, NvmlPair } from "../../platform/nvml-answer.ts";
import type { IndexedLink } from "./gpu-links.ts";
import { pciAddress } from "./pci.ts";

/** nvmlGpuTopologyLevel_t */
const LEVELS: Readonly<Record<number, LinkKind>> = {
  // Two GPUs on one board.
  0: "pix",
  10: "pix",
  20: "pxb",
  30: "phb",
  40: "node",
  50: "sys",
};

const SWITCH = 2;
const P2P_OK = 0;

/** How each two of the cards are linked, in both directions. */
export function nvmlLinks({ cards, pairs }: NvmlAnswer & { readonly kind: "read" }): readonly IndexedLink[] {
  const byIndex = new Map(cards.map((card) => [card.index, card]));
  return pairs.flatMap((pair) => {
    const a = byIndex.get(pair.a);
    const b = byIndex.get(pair.b);
    if (a === undefined || b === undefined) return [];
    const link = linkBetween(a, b, pair);
    return [
      { from: pair.a, to: pair.b, ...link },
      { from: pair.b, to: pair.a, ...link },
    ];
  });
}

/** First rule that applies wins. */
function linkBetween(a: NvmlCard, b: NvmlCard, { ancestor, p2p }: NvmlPair): Pick<IndexedLink, "kind" | "lanes"> {
  const direct = Math.max(linksTo(a, b), linksTo(b, a));
  if (direct > 0) return { kind: "nvlink", lanes: direct };
  // Behind a switch the other end is the switch, and everybody on it reaches everybody: unless the driver says that NVLink
  // does not work between the two, as before the fabric manager is done.
  const switched = Math.min(linksToSwitch(a), linksToSwitch(b));
  if (switched > 0 && (p2p === P2P_OK || p2p === -1)) return { kind: "nvlink", lanes: switched };
  // Some virtual machines hide what the links lead to.
  if (p2p === P2P_OK) return { kind: "nvlink", lanes: Math.min(a.nvlinks.length, b.nvlinks.length) };
  return { kind: LEVELS[ancestor] ?? "unknown", lanes: 0 };
}

function linksTo(from: NvmlCard, to: NvmlCard): number {
  const address = pciAddress(to.texts["busId"] ?? "");
  if (address === "") return 0;
  return from.nvlinks.filter(({ remote, kind }) => kind !== SWITCH && pciAddress(remote) === address).length;
}

const linksToSwitch = ({ nvlinks }: NvmlCard): number => nvlinks.filter(({ kind }) => kind === SWITCH).length;
