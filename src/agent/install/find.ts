import { isAbsolute, join } from "node:path";
import type { EngineSource } from "../../core/desired.ts";
import type { EngineBuild, EngineOrigin } from "../../core/node.ts";
import { isExecutableFile } from "../../platform/folders.ts";
import type { InstallContext } from "./context.ts";
import { type InstalledBuild, listInstalled } from "./staging.ts";

export interface Places {
  /** The binary that the agent's configuration names. */
  readonly configured: string | undefined;
  readonly pathDirs: readonly string[];
  readonly optDir: string;
}

interface FoundBuild {
  readonly build: EngineBuild;
  /** Undefined: it was not installed by an agent. */
  readonly installed: InstalledBuild | undefined;
}

export interface FoundBuilds {
  /** In the order of preference. */
  readonly builds: readonly FoundBuild[];
  readonly refusals: readonly string[];
}

interface Candidate {
  readonly origin: EngineOrigin;
  readonly path: string;
  readonly installed: InstalledBuild | undefined;
}

/** An unpacked release has its program at the top, one that was installed or built by hand deeper. */
const OPT_FOLDERS = ["", "bin", "build/bin"] as const;

/** Looks at every place and has each executable say what it is. A configured binary is the only one looked at. */
export async function findBuilds(context: InstallContext, places: Places): Promise<FoundBuilds> {
  const builds: FoundBuild[] = [];
  const refusals: string[] = [];
  for (const { origin, path, installed } of await candidatesIn(context, places)) {
    const probed = await context.probe(path);
    if (probed.ok) builds.push({ build: { ...probed.value, name: context.engine.name, origin, path }, installed });
    else refusals.push(`${path}: ${probed.error.reason}`);
  }
  return { builds, refusals };
}

async function candidatesIn({ engine, folder }: InstallContext, places: Places): Promise<readonly Candidate[]> {
  const { configured, pathDirs, optDir } = places;
  if (configured !== undefined) return [{ origin: "configured", path: configured, installed: undefined }];
  const onPath = await firstExecutable(pathDirs.map((dir) => join(dir, engine.program)));
  const inOpt = await firstExecutable(OPT_FOLDERS.map((dir) => join(optDir, dir, engine.program)));
  const found: readonly Candidate[] = [
    ...onPath.map((path) => ({ origin: "path", path, installed: undefined }) as const),
    ...inOpt.map((path) => ({ origin: "opt", path, installed: undefined }) as const),
  ];
  const installed = await listInstalled(folder);
  return [
    ...found,
    ...installed.map((build) => ({ origin: "installed", path: build.path, installed: build }) as const),
  ];
}

/** As a shell would find it on PATH, but never in whatever folder this process happens to be in. */
async function firstExecutable(paths: readonly string[]): Promise<readonly string[]> {
  for (const path of paths.filter(isAbsolute)) if (await isExecutableFile(path)) return [path];
  return [];
}

/**
 * The build that the wish is met with already. What was installed before an NVIDIA driver was there is looked for anew,
 * since there may be one for its GPUs now.
 */
export function suitable(
  found: FoundBuilds,
  source: EngineSource | undefined,
  hasDriver: boolean,
): EngineBuild | undefined {
  const [first] = found.builds;
  if (first === undefined || source === undefined || first.build.origin === "configured") return first?.build;
  const meets = ({ installed, build }: FoundBuild): boolean => {
    if (installed === undefined || (hasDriver && !installed.hadDriver)) return false;
    return ["", "latest", build.version, installed.asked].includes(source.version);
  };
  return found.builds.find(meets)?.build;
}
