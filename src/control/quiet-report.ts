import type { ReplicaId } from "../core/ids.ts";
import type { ObservedReplica, ObservedReplicaState, ObservedState } from "../core/observed.ts";
import type { Profile } from "../core/profile.ts";
import { secretsIn, withoutKey, withoutKnown } from "../core/redact.ts";
import { withoutSecretForms } from "../core/secret-forms.ts";

interface Known {
  /** A replica's secret; undefined: nobody knows it. */
  readonly keyOf: (id: ReplicaId) => string | undefined;
  /** What a replica was made of. */
  readonly specOf: (replica: ObservedReplica) => Profile | undefined;
}

/**
 * What a node says, without the secrets that its engines were given: engines print their options and their environment, and
 * what is said here is stored, shown and sent on.
 */
export function quietReport(observed: ObservedState, { keyOf, specOf }: Known): ObservedState {
  return {
    ...observed,
    replicas: observed.replicas.map((said) => {
      if (!speaks(said.state)) return said;
      const key = keyOf(said.id) ?? "";
      return { ...said, state: quiet(said.state, quieter(key, specOf(said))) };
    }),
  };
}

/** For an engine's own words. */
export function quieter(apiKey: string, spec: Profile | undefined): (text: string) => string {
  const known = withoutKnown(spec === undefined ? [] : secretsIn(spec));
  return (text) => withoutSecretForms(known(withoutKey(text, apiKey)));
}

type Speaking = Extract<ObservedReplicaState, { readonly kind: "failed" | "starting" | "stopping" }>;

const speaks = (state: ObservedReplicaState): state is Speaking =>
  state.kind === "failed" || state.kind === "starting" || state.kind === "stopping";

function quiet(state: Speaking, hide: (text: string) => string): Speaking {
  if (state.kind === "failed") return { ...state, reason: hide(state.reason), lastLines: state.lastLines.map(hide) };
  if (state.kind === "starting") return { ...state, note: hide(state.note) };
  return state.note === undefined ? state : { ...state, note: hide(state.note) };
}
