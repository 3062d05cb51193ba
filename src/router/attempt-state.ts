import type { Millis } from "../core/ids.ts";
import type { EngineConnection } from "./engine/connection.ts";
import type { Relay } from "./relay.ts";

/** How far one sending to one replica is. Only its Attempt moves it. */
export type AttemptState =
  /** Asked, and not a byte of an answer yet. `since`: when it was asked, then when it was connected. */
  | { readonly kind: "waiting"; connection: EngineConnection | undefined; connected: boolean; since: Millis }
  | {
      readonly kind: "relaying";
      readonly connection: EngineConnection | undefined;
      readonly relay: Relay;
      /** The last time that the engine sent or, while it is held, the client took something; as the last tick found it. */
      activeAt: Millis;
      /** That was since the last tick. */
      isActive: boolean;
      held: boolean;
    }
  /** It has failed, or was given up. */
  | { readonly kind: "failed"; readonly relay: Relay | undefined }
  /** The engine's answer is whole. */
  | { readonly kind: "whole"; readonly relay: Relay };

export type Waiting = AttemptState & { readonly kind: "waiting" };
export type Relaying = AttemptState & { readonly kind: "relaying" };
