import type { Millis } from "../core/ids.ts";
import type { Attempt, Rest } from "./attempt.ts";
import type { Model } from "./fleet.ts";
import type { Question } from "./question.ts";
import type { EngineAsk } from "./translate/ask.ts";

/** Where one client's request is. Only its Exchange moves it. */
export type State =
  | { readonly kind: "uploading" }
  /** Every replica that could take it is full. */
  | { readonly kind: "queued"; readonly model: Model; readonly since: Millis }
  /** Its key's limit is used up here, and other routers may let go of some of it. */
  | { readonly kind: "sharing"; readonly cancel: () => void }
  /** A replica has it. */
  | { readonly kind: "asking"; readonly attempt: Attempt }
  /** An attempt has failed and what to do about it is being decided. */
  | { readonly kind: "deciding" }
  | { readonly kind: "over" };

/** One sending of the request to the replica that is to have it. */
export interface Sending {
  readonly ask: EngineAsk;
  /** Not on a connection that was kept. */
  readonly fresh: boolean;
  readonly rest?: Rest | undefined;
}

export interface Try extends Omit<Sending, "fresh"> {
  readonly question: Question;
}
