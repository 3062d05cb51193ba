import { join } from "node:path";
import type { EngineSource } from "../../core/desired.ts";
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
import { install } from "./install.ts";
import { createProbe } from "./probe.ts";
import { createSharing } from "./sharing.ts";

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

interface Room {
  readonly context: InstallContext;
  /** Of the last installation, for the node to show. */
  readonly refusals: Set<string>;
}

export function createEngineProvider(options: EngineProviderOptions): EngineProvider {
  const rooms = new Map<EngineName, Room>();
  const sharing = createSharing<EngineBuild>();
  const said = new Set<string>();

  const roomOf = (name: EngineName): Room | undefined => {
    const engine = engineOf(name);
    if (engine === undefined) return undefined;
    const room = rooms.get(name) ?? openRoom(engine);
    rooms.set(name, room);
    return room;
  };

  const sayOnce = (name: EngineName, reason: string): void => {
    if (!said.has(reason)) options.logger.warn({ engine: name, reason }, "an engine that cannot be had");
    said.add(reason);
  };

  const openRoom = (engine: Engine): Room => {
    const refusals = new Set<string>();
    const refuse = (reason: string): void => {
      refusals.add(reason);
      sayOnce(engine.name, reason);
    };
    return { context: contextOf(engine, options, refuse), refusals };
  };

  const look = async ({ context }: Room): Promise<FoundBuilds> => {
    const { configured, pathDirs, optDir } = options;
    const all = await findBuilds(context, { configured: configured[context.engine.name], pathDirs, optDir });
    for (const reason of all.refusals) sayOnce(context.engine.name, reason);
    return all;
  };

  return {
    async found(name) {
      const room = roomOf(name);
      if (room === undefined) return { builds: [], refusals: [] };
      const { builds, refusals } = await look(room);
      return { builds: builds.map(({ build }) => build), refusals: [...refusals, ...room.refusals] };
    },
    async ensure(name, source, request) {
      const room = roomOf(name);
      if (room === undefined) return err(failed("unknown-engine", `the engine ${name} cannot be run here`));
      const all = await look(room);
      const here = suitable(all, source, (await options.gpuDriver()) !== undefined);
      if (here !== undefined) return ok(here);
      // Whoever names a binary wants that one and no other.
      if (options.configured[name] !== undefined) {
        return err(failed("does-not-run", `the configured ${name} cannot be used: ${all.refusals.join("; ")}`));
      }
      const wanted = source ?? { version: "", source: "github" };
      const key = [name, wanted.version, wanted.source].join(" ");
      return await sharing(key, request, async (shared) => {
        room.refusals.clear();
        const outcome = await install(room.context, wanted, shared);
        if (!outcome.ok && outcome.error.kind !== "aborted") room.context.refuse(outcome.error.message);
        return outcome;
      });
    },
  };
}

function contextOf(engine: Engine, options: EngineProviderOptions, refuse: InstallContext["refuse"]): InstallContext {
  const { enginesDir, downloader, clock, logger, env, isRoot, gpuDriver, githubApi } = options;
  return {
    engine,
    folder: join(enginesDir, engine.name),
    downloader,
    probe: createProbe(engine, clock),
    clock,
    logger,
    refuse,
    env,
    isRoot,
    githubApi: githubApi ?? "https://api.github.com",
    gpuDriver: async () => (await gpuDriver())?.version,
  };
}
