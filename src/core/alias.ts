import type { Millis, ProfileName } from "./ids.ts";

/** A model name that profiles answer in turns. */
export interface Alias {
  readonly name: string;
  /** Never empty. Their shares of the requests are as their weights are to each other. */
  readonly targets: readonly { readonly profile: ProfileName; readonly weight: number }[];
  /** Who answers when no target can, in this order. */
  readonly fallback: readonly ProfileName[];
}

/** An alias as it is remembered. */
export interface StoredAlias {
  readonly alias: Alias;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}
