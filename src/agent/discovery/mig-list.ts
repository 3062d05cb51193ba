import { bytes, gpuUuid } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";

/**
 * Puts the MIG instances that `nvidia-smi -L` lists in the place of the cards that are cut into them; a card without any is
 * left, with the reason why nothing runs on it.
 */
export function withSlices(gpus: readonly Gpu[], cut: readonly string[], list: string): readonly Gpu[] {
  const slices = slicesIn(list);
  return gpus.flatMap((gpu): readonly Gpu[] => {
    if (!cut.includes(gpu.uuid)) return [gpu];
    const own = slices.filter(({ card }) => card === gpu.uuid);
    if (own.length === 0) return [{ ...gpu, problem: gpu.problem ?? NO_SLICE }];
    return own.map(({ uuid, profile }) => ({
      ...gpu,
      uuid: gpuUuid(uuid),
      name: `${gpu.name} MIG ${profile}`,
      ...memoryOf(profile),
      links: [],
      parent: gpu.uuid,
    }));
  });
}

export const NO_SLICE = "MIG is on, and no instance of it is made: nothing can run on it";

interface Slice {
  readonly card: string;
  readonly uuid: string;
  readonly profile: string;
}

function slicesIn(list: string): readonly Slice[] {
  let card = "";
  return list.split(/\r?\n/).flatMap((line): readonly Slice[] => {
    card = /^GPU \d+: .*\(UUID: (GPU-[^)\s]+)\)/.exec(line)?.[1] ?? card;
    const [, profile, uuid] = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)\s]+)\)/.exec(line) ?? [];
    return profile === undefined || uuid === undefined ? [] : [{ card, profile, uuid }];
  });
}

/** The tool's list has no sizes, and its table none of slices. A profile's name rounds down: 1g.5gb has 4864 MiB or more. */
function memoryOf(profile: string): Pick<Gpu, "memoryTotal" | "memoryFree" | "unified"> {
  const size = bytes(Number(/\.(\d{1,4})gb\b/.exec(profile)?.[1] ?? 0) * 1e9);
  return { memoryTotal: size, memoryFree: size, unified: false };
}
