import { ConnectError, type Transport } from "@connectrpc/connect";

/** A way to a control plane, for one session. */
export interface ControlLine {
  /** Its address; "" for one in the same process. */
  readonly server: string;
  readonly transport: Transport;
  close(): void;
}

/** The control planes that a router may ask, each of which knows all. */
export interface ControlPlanes {
  readonly count: number;
  /** Opens a way to the next one in turn. Rejects, in words, when there is nothing to show to it. */
  dial(): Promise<ControlLine>;
  /** Why there is no session, in words. */
  explain(error: unknown): string;
}

/** The one in the same process, or one that a test stands in for. */
export const onlyControlPlane = (transport: Transport): ControlPlanes => ({
  count: 1,
  dial: () => Promise.resolve({ server: "", transport, close: () => undefined }),
  explain: (error) => ConnectError.from(error).rawMessage,
});
