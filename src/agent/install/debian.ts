import { join } from "node:path";
import { bytes, millis } from "../../core/ids.ts";
import { formatBytes } from "../../core/format.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { readTextIfThere, removeIfThere } from "../../platform/files.ts";
import { isExecutableFile, listNames, makeFolder } from "../../platform/folders.ts";
import { isThere, readDisk } from "../../platform/host.ts";
import { runProgram } from "../../platform/run.ts";
import { type AptPackage, createPrivateApt, type PrivateApt } from "./apt.ts";
import { type AptSource, debianMirror, readDeb822, readOneLine, readOsRelease } from "./apt-sources.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { allFailed, failed, type InstallFailure } from "./failure.ts";
import { lastLine, proxiesOf } from "./libraries.ts";
import { type DebianBuild, debianLayout, openDebianBuild, ROOT } from "./debian-build.ts";

const PACKAGE = "llama.cpp-tools";
/** The first that has it is taken: testing, and unstable where packages come first. */
const SUITES = ["forky", "sid"] as const;
const DEBIAN = "http://deb.debian.org/debian";
const KEYRINGS = [
  "/usr/share/keyrings/debian-archive-keyring.gpg",
  "/usr/share/keyrings/debian-archive-keyring.pgp",
] as const;
/** Lists of packages (25 MB), the packages (20 MB) and what is in them (70 MB). */
const NEEDED_BYTES = 200_000_000;
const UNPACK_TIMEOUT = millis(120_000);

/** Needed by others in the closure's packages, or by their installation scripts, and not by the engine. */
const NOT_NEEDED =
  /^(debconf|wget|gcc-\d+-base|libc-gconv-modules-extra|openssl-provider-legacy|lib(gnutls|gmp|hogweed|nettle|idn2|p11-kit|pcre2|psl|tasn1|unistring|uuid|ffi)[\w.+-]*)$/;

/**
 * Fetches Debian's signed packages with an apt of our own and unpacks them, with the C library that they want, into a folder
 * that needs nothing of the system's but its kernel.
 */
export async function fetchDebian(
  context: InstallContext,
  staging: string,
  request: InstallRequest,
): Promise<Result<DebianBuild, InstallFailure>> {
  const layout = debianLayout(process.arch);
  if (process.platform !== "linux" || layout === undefined) {
    return err(failed("no-build", `Debian has no build for ${process.platform} on ${process.arch}`));
  }
  const obstacle = await obstacleHere(context, staging);
  if (obstacle !== undefined) return err(obstacle);
  const packages = await fetchPackages(context, { staging, arch: layout.debianArch }, request);
  if (!packages.ok) return packages;
  const unpacked = await unpackPackages(context, { debs: packages.value, root: join(staging, ROOT) }, request);
  await removeIfThere(join(staging, "apt"));
  return unpacked.ok ? await openDebianBuild(staging, layout) : unpacked;
}

async function obstacleHere({ env }: InstallContext, staging: string): Promise<InstallFailure | undefined> {
  const folders = (env["PATH"] ?? "").split(":");
  for (const program of ["apt-get", "dpkg-deb"]) {
    const found = await Promise.all(folders.map((folder) => isExecutableFile(join(folder, program))));
    if (!found.includes(true)) {
      return failed("missing-tool", `Debian's build needs ${program}, which this system does not have`);
    }
  }
  const disk = await readDisk(staging);
  if (disk === undefined || disk.free >= NEEDED_BYTES) return undefined;
  const needs = formatBytes(NEEDED_BYTES);
  return failed("no-space", `Debian's build needs ${needs} in ${staging}, ${formatBytes(disk.free)} are free`);
}

/** The path of the folder with the fetched packages. */
async function fetchPackages(
  context: InstallContext,
  { staging, arch }: { readonly staging: string; readonly arch: string },
  request: InstallRequest,
): Promise<Result<string, InstallFailure>> {
  const { mirrors, keyring } = await machineSources();
  if (keyring === undefined) {
    return err(failed("missing-tool", "Debian's keys are not on this machine: install debian-archive-keyring"));
  }
  const env = { PATH: context.env["PATH"] ?? "", LANG: "C.UTF-8", ...proxiesOf(context.env) };
  const failures: InstallFailure[] = [];
  for (const uri of mirrors) {
    for (const suite of SUITES) {
      const folder = join(staging, "apt");
      await removeIfThere(folder);
      const archive = { uri, suite, keyring, arch };
      const apt = await createPrivateApt({ folder, archive, env, signal: request.signal });
      const outcome = await fetchWith(apt, suite, request);
      if (outcome.ok) return outcome;
      failures.push(outcome.error);
      context.refuse(`no llama.cpp from an archive of Debian's: ${outcome.error.message}`);
      if (outcome.error.kind === "aborted" || outcome.error.kind === "no-space") return outcome;
      if (outcome.error.kind === "unreachable") break;
    }
  }
  return err(allFailed("Debian's build", failures));
}

async function fetchWith(
  apt: PrivateApt,
  suite: string,
  request: InstallRequest,
): Promise<Result<string, InstallFailure>> {
  const updated = await apt.update();
  if (!updated.ok) return updated;
  const closure = await apt.closureOf(PACKAGE);
  if (!closure.ok) return closure;
  const needed = closure.value.filter(({ name }) => !NOT_NEEDED.test(name));
  const report = reporter(needed, suite, request);
  const names = needed.map(({ name }) => name);
  const downloaded = await apt.download(names, report);
  return downloaded.ok ? ok(apt.debs) : downloaded;
}

/** apt names each package as it begins with it. */
function reporter(packages: readonly AptPackage[], suite: string, request: InstallRequest): (text: string) => void {
  const total = packages.reduce((sum, one) => sum + one.bytes, 0);
  let begun = 0;
  return (text) => {
    begun += [...text.matchAll(/^Get:\d+ /gm)].length;
    const done = packages.slice(0, Math.max(0, begun - 1)).reduce((sum, one) => sum + one.bytes, 0);
    const what = `llama.cpp from Debian ${suite}`;
    request.onProgress({ what, bytesDone: bytes(done), bytesTotal: bytes(total), bytesPerSecond: 0 });
  };
}

async function machineSources(): Promise<{
  readonly mirrors: readonly string[];
  readonly keyring: string | undefined;
}> {
  const { id, codename } = readOsRelease((await readTextIfThere("/etc/os-release")) ?? "");
  const own = id === "debian" ? debianMirror(await readSources(), codename) : undefined;
  const mirrors = [...new Set([...(own === undefined ? [] : [own.uri]), DEBIAN])];
  const candidates = [...(own?.signedBy === undefined ? [] : [own.signedBy]), ...KEYRINGS];
  const there = await Promise.all(candidates.map(isThere));
  return { mirrors, keyring: candidates.find((_, index) => there[index]) };
}

async function readSources(): Promise<readonly AptSource[]> {
  const folder = "/etc/apt/sources.list.d";
  const paths = ["/etc/apt/sources.list", ...(await listNames(folder)).map((name) => join(folder, name))];
  const sources = await Promise.all(
    paths.map(async (path) => {
      const text = (await readTextIfThere(path).catch(() => undefined)) ?? "";
      if (path.endsWith(".sources")) return readDeb822(text);
      return path.endsWith(".list") ? readOneLine(text) : [];
    }),
  );
  return sources.flat();
}

async function unpackPackages(
  { env }: InstallContext,
  { debs, root }: { readonly debs: string; readonly root: string },
  { signal }: InstallRequest,
): Promise<Result<undefined, InstallFailure>> {
  await makeFolder(root);
  for (const name of await listNames(debs)) {
    const argv = ["dpkg-deb", "-x", join(debs, name), root] as const;
    const outcome = await runProgram(argv, {
      env: { PATH: env["PATH"] ?? "" },
      timeout: UNPACK_TIMEOUT,
      signal,
    });
    if (outcome.kind === "notStarted") return err(failed("missing-tool", outcome.message));
    if (outcome.code === 0) continue;
    if (signal.aborted) return err(failed("aborted", "the installation was stopped"));
    const reason = lastLine(outcome.stderr) ?? `dpkg-deb ended with ${String(outcome.code)}`;
    const kind = /no space left/i.test(outcome.stderr) ? "no-space" : "bad-archive";
    return err(failed(kind, `${name} cannot be unpacked: ${reason}`));
  }
  return ok(undefined);
}
