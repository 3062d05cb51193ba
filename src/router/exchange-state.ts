import type { Millis } from "../core/ids.ts";
import type { EngineConnection } from "./engine/connection.ts";
import type { Model, Replica } from "./fleet.ts";
import type { Relay } from "./relay.ts";
import type { EngineAsk } from "./translate/ask.ts";

/** Where one client's request is. Only its Exchange moves it. */
export type State =
  | { readonly kind: "uploading"; activeAt: Millis }
  /** Every replica that could take it is full. */
  | { readonly kind: "queued"; readonly model: Model; readonly since: Millis }
  /** Its key's limit is used up here, and other routers may let go of some of it. */
  | { readonly kind: "sharing"; readonly cancel: () => void }
  /** Asked, and not a byte of an answer yet. `since`: when it was asked, then when it was connected. */
  | {
      readonly kind: "waiting";
      readonly replica: Replica;
      readonly ask: EngineAsk;
      connection: EngineConnection | undefined;
      connected: boolean;
      since: Millis;
    }
  | {
      readonly kind: "relaying";
      readonly replica: Replica;
      readonly connection: EngineConnection | undefined;
      readonly relay: Relay;
      /** The last time that the engine sent or, while it is held, the client took something. */
      activeAt: Millis;
      held: boolean;
    }
  /** An attempt has failed and what to do about it is being decided. */
  | { readonly kind: "deciding" }
  | { readonly kind: "over" };

export type Waiting = State & { readonly kind: "waiting" };
export type Relaying = State & { readonly kind: "relaying" };
