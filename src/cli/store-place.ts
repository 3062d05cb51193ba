import { join } from "node:path";
import type { StoreLocation } from "../config/server-schema.ts";
import { pathsFor, type Place } from "../run/paths.ts";

/**
 * Where a control plane keeps its state. --data-dir is the promise that nothing is written elsewhere, so it wins over a file
 * that the configuration names.
 */
export function storeOf(place: Place, configured: StoreLocation | undefined): StoreLocation {
  const own: StoreLocation = { kind: "sqlite", path: join(pathsFor(place).serverDir, "server.db") };
  return configured === undefined || (configured.kind === "sqlite" && place.dataDir !== undefined) ? own : configured;
}
