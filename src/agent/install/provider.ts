import { join } from "node:path";
import type { EngineSource } from "../../core/desired.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { EngineBuild } from "../../core/node.ts";
import type { EngineName } from "../../core/profile.ts";
import type { Progress } from "../../core/replica-state.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Engine } from "../../engines/engine.ts";
import { engineOf } from "../../engines/list.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Downloader } from "../../platform/fetch/download.ts";
import type { Logger } from "../../platform/logger.ts";
import type { InstallContext } from "./context.ts";
import { failed, type InstallFailure } from "./failure.ts";
import { findBuilds, type FoundBuilds, suitable } from "./find.ts";
import { createProbe } from "./probe.ts";
import { createRoom, createTeller, type Room } from "./room.ts";

export interface EngineProviderOptions {
  readonly enginesDir: string;
  /** Binaries that the agent's configuration names, by engine. */
  readonly configured: Readonly<Record<string, string>>;
  readonly pathDirs: readonly string[];
  /** Where a build unpacked by hand is looked for, such as /opt/llama.cpp. */
  readonly optDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  readonly downloader: Downloader;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Undefined: no NVIDIA driver is loaded. */
  readonly gpuDriver: () => Promise<{ readonly version: string } | undefined>;
  /** The uv that the agent's configuration names. */
  readonly uv?: string | undefined;
  /** How long a build that somebody was given is kept although nothing runs from it. Default an hour. */
  readonly unusedAfter?: Millis;
  /** Default: every engine that can be run. */
  readonly engineOf?: (name: string) => Engine | undefined;
  /** Default https://api.github.com. */
  readonly githubApi?: string;
}

export interface EngineProvider {
  /** What is here and runs, in the order of preference, and a sentence for each that does not run. */
  found(engine: EngineName): Promise<{ readonly builds: readonly EngineBuild[]; readonly refusals: readonly string[] }>;
  /**
   * A build that runs, installed if need be. Without a source any build that is here will do; with one, only what was
   * installed for it, unless the agent's configuration names a binary. Calls for the same share one installation.
   */
  ensure(
    engine: EngineName,
    source: EngineSource | undefined,
    request: { readonly onProgress: (progress: Progress) => void; readonly signal: AbortSignal },
  ): Promise<Result<EngineBuild, InstallFailure>>;
}

export function createEngineProvider(options: EngineProviderOptions): EngineProvider {
  const rooms = new Map<EngineName, Room>();
  const known = options.engineOf ?? engineOf;
  const say = createTeller(options.logger);

  const roomOf = (name: EngineName): Room | undefined => {
    const engine = known(name);
    if (engine === undefined) return undefined;
    const room =
      rooms.get(name) ?? createRoom((refuse) => contextOf(engine, options, refuse), say, options.unusedAfter);
    rooms.set(name, room);
    return room;
  };

  const look = async ({ context }: Room, patience?: Millis): Promise<FoundBuilds> => {
    const { pathDirs, optDir } = options;
    const configured = options.configured[context.engine.name];
    const places = { configured, pathDirs, optDir, ...(patience === undefined ? {} : { patience }) };
    const all = await findBuilds(context, places);
    // Without any build they are problems of the node, and said as such.
    if (all.builds.length > 0) for (const reason of all.refusals) say(context.engine.name, reason);
    return all;
  };

  return {
    async found(name) {
      const room = roomOf(name);
      if (room === undefined) return { builds: [], refusals: [] };
      const { builds, refusals } = await look(room, PATIENCE);
      void room.tidy();
      return { builds: builds.map(({ build }) => build), refusals: [...refusals, ...room.refusals()] };
    },
    async ensure(name, source, request) {
      const room = roomOf(name);
      if (room === undefined) return err(failed("unknown-engine", `the engine ${name} cannot be run here`));
      const all = await look(room);
      const here = suitable(all, source, (await options.gpuDriver()) !== undefined);
      if (here !== undefined) return ok(room.handOut(here, source));
      // Whoever names a binary wants that one and no other.
      if (options.configured[name] !== undefined) {
        return err(failed("does-not-run", `the configured ${name} cannot be used: ${all.refusals.join("; ")}`));
      }
      const wanted = source ?? room.unasked;
      if (wanted === undefined) return err(failed("not-found", notWished(name)));
      const installed = await room.install(wanted, request);
      return installed.ok ? ok(room.handOut(installed.value, wanted)) : installed;
    },
  };
}

/** A node says what it is and connects also while an engine of Python is still loading itself to say its version. */
const PATIENCE = millis(3_000);

const notWished = (name: string): string =>
  `${name} is not on this node, and server.yaml names no version of it under engines.${name} that could be installed`;

/** In an engine's folder: what its programs write when they are asked what they are. */
const HOME = "home";

function contextOf(engine: Engine, options: EngineProviderOptions, refuse: InstallContext["refuse"]): InstallContext {
  const { enginesDir, downloader, clock, logger, env, isRoot, gpuDriver, githubApi, uv } = options;
  return {
    engine,
    folder: join(enginesDir, engine.name),
    downloader,
    probe: createProbe(engine, clock, join(enginesDir, engine.name, HOME)),
    clock,
    logger,
    refuse,
    env,
    isRoot,
    uv: { configured: uv },
    githubApi: githubApi ?? "https://api.github.com",
    gpuDriver: async () => (await gpuDriver())?.version,
  };
}
