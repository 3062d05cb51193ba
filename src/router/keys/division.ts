import {
  type KeyGrant,
  type KeyLimits,
  ofSharedLimits,
  type SharedLimitName,
  type SharedLimits,
} from "../../core/client-key.ts";
import { type Allowance, alone } from "../../routing/limits/decide.ts";

/** How many routers there may be when nobody has said it: a router that has not heard a word yet takes half. */
const UNKNOWN_ROUTERS = 2;

/**
 * What this router may admit of each key's limits. With other routers it is what the control plane has given it; while that
 * is away, the same until the lease is over, and from then on an equal part: the others rely on that.
 */
export class Division {
  #isShared = false;
  #isConnected = false;
  #isLapsed = true;
  #routers: number | undefined;
  #given: Map<string, SharedLimits> | undefined;

  /** @param routers how many shared the limits when a router was last here; undefined: nobody knows */
  constructor(routers: number | undefined) {
    this.#routers = routers;
  }

  get routers(): number | undefined {
    return this.#routers;
  }

  /** Whether limits are divided at all. */
  set isShared(isShared: boolean) {
    this.#isShared = isShared;
  }

  connected(): void {
    this.#isConnected = true;
  }

  disconnected(): void {
    this.#isConnected = false;
  }

  /** Nothing has been heard for as long as the shares hold. */
  lapse(): void {
    this.#isLapsed = true;
  }

  /**
   * Takes shares; `isWhole`: of all keys, and what was given before is void. Answers whether all keys may have another share
   * than before, or only those that are named.
   */
  give(
    shares: Iterable<readonly [keyId: string, shares: SharedLimits]>,
    { routers, isWhole }: { readonly routers: number; readonly isWhole: boolean },
  ): "all" | "named" {
    const concernsAll = isWhole || this.#isLapsed || this.#routers !== routers;
    this.#routers = routers;
    this.#isLapsed = false;
    if (isWhole || this.#given === undefined) this.#given = new Map();
    for (const [keyId, its] of shares) this.#given.set(keyId, its);
    return concernsAll ? "all" : "named";
  }

  /** What is in force, so that it can be told to a control plane that has forgotten it. */
  allowance({ id, limits }: KeyGrant): Allowance {
    if (!this.#isShared) return alone(limits);
    const parts = this.#isConnected ? 1 : (this.#routers ?? UNKNOWN_ROUTERS);
    return { limits, parts, shares: this.#shares(id, limits) };
  }

  #shares(id: string, limits: KeyLimits): SharedLimits {
    const given = this.#given?.get(id);
    // Connected and not told yet: that takes a moment, and until then nothing is this router's.
    if (this.#given === undefined && this.#isConnected) return mapLimits(limits, () => 0);
    const parts = this.#isLapsed ? (this.#routers ?? UNKNOWN_ROUTERS) : 1;
    const wasTold = this.#given !== undefined;
    return mapLimits(limits, (limit, name) =>
      Math.min(Math.floor(limit / parts), given?.[name] ?? (wasTold ? 0 : Infinity)),
    );
  }
}

function mapLimits(limits: KeyLimits, share: (limit: number, name: SharedLimitName) => number): SharedLimits {
  return ofSharedLimits((name) => {
    const limit = limits[name];
    return limit === undefined ? undefined : share(limit, name);
  });
}
