import type { Launch } from "../engine.ts";

/** Into how many parts each layer is cut, and the layers are shared out. */
export interface Cut {
  readonly tensor: number;
  readonly pipeline: number;
}

/**
 * As the profile says where that comes to all GPUs of all ranks. Where it says nothing, or placement chose more GPUs than it
 * says, every GPU gets a part of each layer: a GPU that nothing is put on is a GPU too few.
 */
export function cutOf({ gpus, gang, parallel = { tensor: 1, pipeline: 1 } }: Launch): Cut {
  const all = gpus.length * (gang?.ranks ?? 1);
  const { tensor, pipeline } = parallel;
  if (all === 0 || tensor * pipeline === all) return { tensor, pipeline };
  return all % pipeline === 0 ? { tensor: all / pipeline, pipeline } : { tensor: all, pipeline: 1 };
}
