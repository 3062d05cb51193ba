import { join } from "node:path";

export interface Place {
  /** `--data-dir`; undefined when it was not given. */
  readonly dataDir: string | undefined;
  readonly isRoot: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's own folder, for the XDG defaults. */
  readonly home: string;
}

/** What an agent writes. The configuration may name others, unless --data-dir was given. */
export interface AgentPaths {
  readonly workDir: string;
  readonly weightsDir: string;
  readonly enginesDir: string;
}

/** Where each role keeps its files. */
export interface Paths {
  /** Holds `admin-token` and `server.db`. */
  readonly serverDir: string;
  /** Of a router alone. */
  readonly routerDir: string;
  readonly agent: AgentPaths;
}

const below = (folder: string): Paths => ({
  serverDir: folder,
  routerDir: join(folder, "router"),
  agent: { workDir: join(folder, "agent"), weightsDir: join(folder, "weights"), enginesDir: join(folder, "engines") },
});

/** The system's folders, as the agent's configuration names them. */
const SYSTEM: Paths = {
  serverDir: "/var/lib/llmgw",
  routerDir: "/var/lib/llmgw-router",
  agent: { workDir: "/var/lib/llmgw-agent", weightsDir: "/var/lib/llmgw-weights", enginesDir: "/opt/llmgw/engines" },
};

/** For `llmgw server`, `llmgw router` and `llmgw agent`: below --data-dir; else the system's folders for root and the XDG ones for others. */
export function pathsFor(place: Place): Paths {
  if (place.dataDir !== undefined) return below(place.dataDir);
  if (place.isRoot) return SYSTEM;
  const data = join(xdg(place, "XDG_DATA_HOME", ".local/share"), "llmgw");
  const state = join(xdg(place, "XDG_STATE_HOME", ".local/state"), "llmgw");
  return {
    serverDir: data,
    routerDir: join(state, "router"),
    agent: { workDir: join(state, "agent"), weightsDir: join(data, "weights"), enginesDir: join(data, "engines") },
  };
}

/** The one folder of `llmgw up`: everything lies in it, so that deleting it leaves nothing behind. */
export function upFolder(place: Place): string {
  if (place.dataDir !== undefined) return place.dataDir;
  return place.isRoot ? SYSTEM.serverDir : join(xdg(place, "XDG_DATA_HOME", ".local/share"), "llmgw");
}

export const upPaths = (folder: string): Paths & { readonly lock: string } => ({
  ...below(folder),
  lock: join(folder, "up.lock"),
});

/** Where `llmgw ctl` looks for the control planes it knows, and `llmgw up` writes its own. */
export const contextFilePath = (place: Pick<Place, "env" | "home">): string =>
  join(xdgConfigFolder(place), "contexts.yaml");

/** Where an ordinary user's configuration is. */
export const xdgConfigFolder = (place: Pick<Place, "env" | "home">): string =>
  join(xdg(place, "XDG_CONFIG_HOME", ".config"), "llmgw");

/** The XDG rules say that a relative path is to be ignored. */
function xdg(place: Pick<Place, "env" | "home">, variable: string, fallback: string): string {
  const named = place.env[variable];
  return named?.startsWith("/") === true ? named : join(place.home, fallback);
}
