import { type AdapterCall, adaptersOf } from "../core/adapter.ts";
import type { Replica } from "../core/replica-state.ts";
import { engineRunning } from "../engines/list.ts";
import type { Snapshot } from "../store/store.ts";
import { specKey } from "./changes.ts";

/** What a replica was started with. */
interface Loaded {
  readonly serves: readonly string[];
  /** In the order of its launch. */
  readonly adapters: readonly string[];
}

/** With which adapters each replica was made: while a profile is changed, its replicas have others. */
export class LoadedAdapters {
  readonly #bySpec: ReadonlyMap<string, Loaded>;

  constructor({ specs }: Pick<Snapshot, "specs">) {
    const withSome = specs.filter(({ spec }) => Object.keys(spec.adapters).length > 0);
    this.#bySpec = new Map(
      withSome.map((stored) => {
        const { serves } = stored.spec;
        return [specKey(stored), { serves, adapters: adaptersOf(stored.spec).map(({ name }) => name) }];
      }),
    );
  }

  has(replica: Replica, adapter: string): boolean {
    return this.#of(replica)?.adapters.includes(adapter) === true;
  }

  /** How those of the replicas that are ready are asked for the adapter, or for the model itself; those left out as any other. */
  calls(replicas: readonly Replica[], adapter: string | undefined): Readonly<Record<string, AdapterCall>> {
    if (this.#bySpec.size === 0) return {};
    const calls = replicas.flatMap((replica) => {
      const call = this.#call(replica, adapter);
      return call === undefined ? [] : [[replica.id, call] as const];
    });
    return Object.fromEntries(calls);
  }

  #call(replica: Replica, adapter: string | undefined): AdapterCall | undefined {
    const loaded = this.#of(replica);
    if (loaded === undefined || replica.state.kind !== "ready") return undefined;
    const rules = engineRunning(replica.state.engine)?.adapters;
    const place = adapter === undefined ? undefined : loaded.adapters.indexOf(adapter);
    return rules?.call({ ...loaded, place });
  }

  #of(replica: Replica): Loaded | undefined {
    return this.#bySpec.size === 0 ? undefined : this.#bySpec.get(specKey(replica));
  }
}
