import type { ServerConfig } from "./server.ts";

/** What is in force once a running control plane has been told of another configuration: the rest waits for a restart. */
export const withLiveSettings = (inForce: ServerConfig, next: ServerConfig): ServerConfig => ({
  ...inForce,
  nodes: next.nodes,
  engines: next.engines,
  weights: next.weights,
  public_url: next.public_url,
});
