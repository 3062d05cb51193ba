/** What an alias stands for, by the names of models. */
export interface AliasTargets {
  readonly targets: readonly { readonly model: string; readonly weight: number }[];
  readonly fallback: readonly string[];
}

/**
 * The model that a request for an alias goes to. `spread`, from 0 to below 1, is the request's own and stays the same for
 * a conversation: over many of them each target gets its weight's share. A target that cannot answer leaves its share to
 * those that can; when none can, the first fallback that can; when nobody can, the target that would have had it, so that
 * what is waited for is what was asked for.
 */
export function pickTarget(
  { targets, fallback }: AliasTargets,
  canAnswer: (model: string) => boolean,
  spread: number,
): string | undefined {
  const able = targets.filter(({ model }) => canAnswer(model));
  return byWeight(able, spread) ?? fallback.find(canAnswer) ?? byWeight(targets, spread) ?? targets[0]?.model;
}

/** Undefined: nobody has a weight. */
function byWeight(targets: AliasTargets["targets"], spread: number): string | undefined {
  const weighty = targets.filter(({ weight }) => weight > 0);
  let left = weighty.reduce((sum, { weight }) => sum + weight, 0) * spread;
  for (const { model, weight } of weighty) {
    left -= weight;
    if (left < 0) return model;
  }
  // What rounding leaves over is the last one's.
  return weighty.at(-1)?.model;
}
