import type { EngineApi } from "./engine-api.ts";
import type { Profile } from "./profile.ts";

/** A LoRA adapter: the name that clients ask for, and where it comes from, as a model does. */
export interface AdapterSpec {
  readonly name: string;
  readonly source: string;
}

/** A profile's adapters by name: an engine is started with them in this order, and may know them by their place in it. */
export const adaptersOf = ({ adapters }: Pick<Profile, "adapters">): readonly AdapterSpec[] =>
  Object.entries(adapters)
    .map(([name, source]) => ({ name, source }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Everything that clients can ask the profile for: the model's names, then those of its adapters. */
export const namesOf = ({ serves, adapters }: Pick<Profile, "serves" | "adapters">): readonly string[] => [
  ...serves,
  ...Object.keys(adapters),
];

/** What an engine with adapters is told beside what the client says, so that it answers with the right one, or with none. */
export interface AdapterCall {
  /** What it calls the adapter. Left out: the name that was asked for. */
  readonly model?: string;
  /** Of what it can be asked for, that which heeds an adapter. Left out: everything. */
  readonly apis?: readonly EngineApi[];
  /** Fields of the body, as JSON, whatever the client has put there. */
  readonly fields: Readonly<Record<string, string>>;
}
