import { dirname, isAbsolute, join } from "node:path";
import type { EngineSource } from "../../core/desired.ts";
import type { Millis } from "../../core/ids.ts";
import type { EngineBuild, EngineOrigin } from "../../core/node.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Engine } from "../../engines/engine.ts";
import { isExecutableFile, realPath } from "../../platform/folders.ts";
import { within } from "../within.ts";
import type { InstallContext } from "./context.ts";
import { type InstalledBuild, listInstalled } from "./staging.ts";

export interface Places {
  /** The binary that the agent's configuration names. */
  readonly configured: string | undefined;
  readonly pathDirs: readonly string[];
  readonly optDir: string;
  /**
   * How long an engine of Python may take to say what it is; it is left out then, and is there at a later look. Undefined: as
   * long as it takes.
   */
  readonly patience?: Millis;
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
  for (const candidate of await candidatesIn(context, places)) {
    const { origin, path, installed } = candidate;
    const said = await sayWhatItIs(context, candidate, places.patience);
    if (said === undefined) continue;
    if (said.ok) builds.push({ build: { ...said.value, name: context.engine.name, origin, path }, installed });
    else refusals.push(`${path}: ${said.error}`);
  }
  return { builds, refusals };
}

/**
 * A virtual environment that was installed says it by its marker: to load all of it takes many seconds, and it was tried. But
 * the Python that it stands on is the system's and may be gone.
 */
async function sayWhatItIs(
  { engine, probe, clock }: InstallContext,
  { path, installed }: Candidate,
  patience: Millis | undefined,
): Promise<Result<Pick<EngineBuild, "version" | "devices">, string> | undefined> {
  if (engine.python !== undefined && installed !== undefined) {
    const interpreter = join(dirname(path), "python");
    if (!(await isExecutableFile(interpreter))) return err(`its Python is gone: ${interpreter} leads nowhere`);
    return ok({ version: installed.version, devices: [] });
  }
  const asked = probe(path);
  const isPatient = patience === undefined || engine.python === undefined;
  const probed = await (isPatient ? asked : within(patience, { clock, promise: asked, otherwise: undefined }));
  return probed === undefined || probed.ok ? probed : err(probed.error.reason);
}

async function candidatesIn({ engine, folder }: InstallContext, places: Places): Promise<readonly Candidate[]> {
  const { configured, pathDirs, optDir } = places;
  if (configured !== undefined) return [{ origin: "configured", path: configured, installed: undefined }];
  const onPath = await firstExecutable(pathDirs.map((dir) => join(dir, engine.program)));
  const optFolders = engine.python === undefined ? OPT_FOLDERS : [];
  const inOpt = await firstExecutable(optFolders.map((dir) => join(optDir, dir, engine.program)));
  const found: readonly Candidate[] = [
    ...(await withInterpreter(engine, onPath)).map((path) => ({ origin: "path", path, installed: undefined }) as const),
    ...inOpt.map((path) => ({ origin: "opt", path, installed: undefined }) as const),
  ];
  const installed = await listInstalled(folder);
  return [
    ...found,
    ...installed.map((build) => ({ origin: "installed", path: build.path, installed: build }) as const),
  ];
}

/** An engine that is started as a module is looked for by its script, and run by the Python that lies beside that. */
async function withInterpreter({ python, program }: Engine, scripts: readonly string[]): Promise<readonly string[]> {
  if (python === undefined || python.program === program) return scripts;
  const real = await Promise.all(scripts.map(realPath));
  return await firstExecutable(real.map((script) => join(dirname(script), python.program)));
}

/** As a shell would find it on PATH, but never in whatever folder this process happens to be in. */
async function firstExecutable(paths: readonly string[]): Promise<readonly string[]> {
  for (const path of paths.filter(isAbsolute)) if (await isExecutableFile(path)) return [path];
  return [];
}

/** Whether an installed build is what is wished for. One from before an NVIDIA driver was there may have a better one now. */
export function meets(installed: InstalledBuild, wish: EngineSource, hasDriver: boolean): boolean {
  if (hasDriver && !installed.hadDriver) return false;
  return ["", "latest", installed.version, installed.asked].includes(wish.version);
}

/** The build that the wish is met with already. */
export function suitable(
  found: FoundBuilds,
  source: EngineSource | undefined,
  hasDriver: boolean,
): EngineBuild | undefined {
  const [first] = found.builds;
  if (first === undefined || source === undefined || first.build.origin === "configured") return first?.build;
  return found.builds.find(({ installed }) => installed !== undefined && meets(installed, source, hasDriver))?.build;
}
