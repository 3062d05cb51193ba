import type { ModelFacts } from "../../core/model-facts.ts";
import type { Profile } from "../../core/profile.ts";

/** Why the model cannot be split as the profile has it, as a sentence without its full stop; undefined: it can, or nobody knows. */
export function whyNotSplit(
  { name, parallel }: Pick<Profile, "name" | "parallel">,
  facts: ModelFacts,
): string | undefined {
  const { tensor, pipeline } = parallel;
  const { heads, layers } = facts;
  if (heads !== undefined && heads % tensor !== 0) {
    return (
      `${name}: the model has ${String(heads)} attention heads, which ${String(tensor)} GPUs cannot share evenly; ` +
      `set parallel.tensor to ${dividers(heads, tensor)}`
    );
  }
  if (layers !== undefined && pipeline > layers) {
    return (
      `${name}: the model has ${String(layers)} layers, which cannot be cut into ${String(pipeline)} parts; ` +
      `set parallel.pipeline to ${String(layers)} or less`
    );
  }
  return undefined;
}

/** The nearest number below that divides, and above if there is one. */
function dividers(heads: number, tensor: number): string {
  const all = Array.from({ length: heads }, (_, less) => less + 1).filter((n) => heads % n === 0);
  const near = [all.findLast((n) => n < tensor), all.find((n) => n > tensor)];
  return near.flatMap((n) => (n === undefined ? [] : [String(n)])).join(" or ");
}
