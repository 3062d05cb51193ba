import { basename, dirname, join } from "node:path";
import { millis } from "../../core/ids.ts";
import { type LibraryPackages, type MissingLibrary, missingLibrary } from "../../engines/llamacpp/libraries.ts";
import { isExecutableFile, listNames } from "../../platform/folders.ts";
import { runProgram } from "../../platform/run.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { probeEnvironment } from "./probe.ts";

const LDD_TIMEOUT = millis(30_000);
const PACKAGE_TIMEOUT = millis(600_000);

interface PackageManager {
  readonly program: string;
  readonly names: (packages: LibraryPackages) => string;
  /** Before a second try, when the first one failed: lists may be missing, as in container images. */
  readonly refresh: readonly string[] | undefined;
  readonly install: readonly string[];
}

/** The first one that is there is the system's. */
const MANAGERS: readonly PackageManager[] = [
  {
    program: "apt-get",
    names: (packages) => packages.apt,
    refresh: ["update", "-q"],
    install: ["install", "-y", "-q", "--no-install-recommends"],
  },
  { program: "dnf", names: (packages) => packages.dnf, refresh: undefined, install: ["install", "-y", "-q"] },
  {
    program: "zypper",
    names: (packages) => packages.zypper,
    refresh: ["--non-interactive", "refresh"],
    install: ["--non-interactive", "install"],
  },
  { program: "apk", names: (packages) => packages.apk, refresh: undefined, install: ["add", "--no-cache"] },
];

/**
 * Sees to it that the build finds every library that a package of the system brings: installs the packages as root, and
 * otherwise answers the sentence that names the command. Libraries that no package brings are left to the trial, since a
 * build may do without some of its parts.
 */
export async function provideLibraries(
  context: InstallContext,
  binary: string,
  request: InstallRequest,
): Promise<string | undefined> {
  const missing = (await missingIn(binary)).filter(hasPackages);
  if (missing.length === 0) return undefined;
  const libraries = missing.map((one) => one.library).join(", ");
  const manager = await findManager(context.env);
  if (manager === undefined) return missing.map((one) => one.reason).join("; ");
  const packages = [...new Set(missing.map((one) => manager.names(one.packages)))];
  const command = [manager.program, ...manager.install, ...packages].join(" ");
  if (!context.isRoot) return `missing library ${libraries}: as root, run ${command}`;
  context.logger.info({ packages, libraries }, "installing what the engine needs of the system");
  const problem = await install(manager, packages, { context, request });
  return problem === undefined ? undefined : `missing library ${libraries}: ${command} failed: ${problem}`;
}

interface Packaged extends MissingLibrary {
  readonly packages: LibraryPackages;
}

const hasPackages = (missing: MissingLibrary): missing is Packaged => missing.packages !== undefined;

/** Of the executable and of everything beside it: parts that are loaded later hide what they miss. */
async function missingIn(binary: string): Promise<readonly MissingLibrary[]> {
  const folder = dirname(binary);
  const names = (await listNames(folder)).filter((name) => /\.so(\.|$)/.test(name));
  const beside = new Set(names);
  const found = new Map<string, MissingLibrary>();
  for (const name of [basename(binary), ...names]) {
    for (const missing of await askLdd(join(folder, name), binary)) {
      if (!beside.has(missing.library)) found.set(missing.library, missing);
    }
  }
  return [...found.values()];
}

/** None when the system has no ldd or the file is no program: then the first start will tell. */
async function askLdd(file: string, binary: string): Promise<readonly MissingLibrary[]> {
  const env = probeEnvironment(binary);
  const outcome = await runProgram(["ldd", file], { env, cwd: dirname(binary), timeout: LDD_TIMEOUT });
  if (outcome.kind === "notStarted") return [];
  return outcome.stdout.split("\n").flatMap((line) => missingLibrary(line) ?? []);
}

async function findManager(env: InstallContext["env"]): Promise<(PackageManager & { path: string }) | undefined> {
  const folders = (env["PATH"] ?? "").split(":").filter((folder) => folder !== "");
  for (const manager of MANAGERS) {
    for (const folder of folders) {
      const path = join(folder, manager.program);
      if (await isExecutableFile(path)) return { ...manager, path };
    }
  }
  return undefined;
}

async function install(
  manager: PackageManager & { readonly path: string },
  packages: readonly string[],
  { context, request }: { readonly context: InstallContext; readonly request: InstallRequest },
): Promise<string | undefined> {
  const env = {
    PATH: context.env["PATH"] ?? "",
    LANG: "C.UTF-8",
    DEBIAN_FRONTEND: "noninteractive",
    ...proxiesOf(context.env),
  };
  const run = async (args: readonly string[]): Promise<string | undefined> => {
    const outcome = await runProgram([manager.path, ...args], {
      env,
      timeout: PACKAGE_TIMEOUT,
      signal: request.signal,
    });
    if (outcome.kind === "notStarted") return outcome.message;
    if (outcome.code === 0) return undefined;
    return lastLine(outcome.stderr) ?? lastLine(outcome.stdout) ?? `exit code ${String(outcome.code)}`;
  };
  const first = await run([...manager.install, ...packages]);
  if (first === undefined || manager.refresh === undefined) return first;
  await run(manager.refresh);
  return await run([...manager.install, ...packages]);
}

export const lastLine = (text: string): string | undefined =>
  text
    .split("\n")
    .findLast((line) => line.trim() !== "")
    ?.trim();

/** The variables that programs which fetch something take their proxy from. */
export function proxiesOf(env: InstallContext["env"]): Readonly<Record<string, string>> {
  const names = Object.keys(env).filter((name) => /^(https?|ftp|all|no)_proxy$/i.test(name));
  return Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
}
