import { join } from "node:path";
import { millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import { makeFolder } from "../../platform/folders.ts";
import { runProgram } from "../../platform/run.ts";
import { failed, type InstallFailure } from "./failure.ts";
import { lastLine } from "./libraries.ts";

interface AptArchive {
  readonly uri: string;
  readonly suite: string;
  /** The file with the keys that the archive is signed with. */
  readonly keyring: string;
  /** Debian's name, such as amd64. */
  readonly arch: string;
}

export interface AptPackage {
  readonly name: string;
  readonly bytes: number;
}

/** An apt of our own: it reads and writes nothing of the system's but the keyring, and needs no root. */
export interface PrivateApt {
  /** Fetches the signed list of packages. */
  update(): Promise<Result<undefined, InstallFailure>>;
  /** The package and everything that it needs, down to the C library. */
  closureOf(name: string): Promise<Result<readonly AptPackage[], InstallFailure>>;
  /** Fetches packages into `debs`; apt checks each against the signed list. */
  download(names: readonly string[], onOutput: (text: string) => void): Promise<Result<undefined, InstallFailure>>;
  readonly debs: string;
}

export interface AptSettings {
  readonly folder: string;
  readonly archive: AptArchive;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

const TIMEOUT = millis(300_000);

export async function createPrivateApt({ folder, archive, env, signal }: AptSettings): Promise<PrivateApt> {
  const debs = join(folder, "debs");
  for (const name of ["lists/partial", "cache/archives/partial", "debs"]) await makeFolder(join(folder, name));
  await writeFileAtomic(join(folder, "status"), "");
  await writeFileAtomic(join(folder, "sources.list"), sourceLine(archive));
  const conf = join(folder, "apt.conf");
  await writeFileAtomic(conf, configuration(folder, archive));
  const apt = async (
    args: readonly string[],
    onOutput?: (text: string) => void,
  ): Promise<Result<string, InstallFailure>> => {
    const outcome = await runProgram(["apt-get", "-c", conf, "-q", "-y", ...args], {
      env,
      cwd: debs,
      timeout: TIMEOUT,
      signal,
      ...(onOutput === undefined ? {} : { onOutput }),
    });
    if (outcome.kind === "notStarted") return err(failed("missing-tool", outcome.message));
    if (outcome.code === 0) return ok(outcome.stdout);
    if (signal.aborted) return err(failed("aborted", "the installation was stopped"));
    return err(aptFailure(outcome.timedOut ? "E: it did not end in time" : outcome.stderr, archive));
  };
  const nothing = (result: Result<string, InstallFailure>) => (result.ok ? ok(undefined) : result);
  return {
    debs,
    update: async () => nothing(await apt(["update"])),
    closureOf: async (name) => {
      const printed = await apt(["--no-install-recommends", "--print-uris", "install", name]);
      return printed.ok ? ok(readUris(printed.value)) : printed;
    },
    download: async (names, onOutput) => nothing(await apt(["download", ...names], onOutput)),
  };
}

/** Only the list of packages: descriptions and the like are not needed. */
const sourceLine = ({ uri, suite, keyring }: AptArchive): string =>
  `deb [target=Packages signed-by=${keyring}] ${uri} ${suite} main\n`;

/** Read after the system's own configuration, of which proxies and the like stay in force, and hooks do not. */
function configuration(folder: string, { arch }: AptArchive): string {
  return `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "${folder}";
Dir::State::lists "${folder}/lists";
Dir::State::status "${folder}/status";
Dir::Cache "${folder}/cache";
Dir::Cache::archives "${folder}/cache/archives";
Dir::Log "${folder}";
Dir::Etc::sourcelist "${folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "${arch}";
APT::Architectures { "${arch}"; };
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
`;
}

/** Lines such as 'http://…/libc6_2.43-7_amd64.deb' libc6_2.43-7_amd64.deb 1866392 MD5Sum:… */
export function readUris(output: string): readonly AptPackage[] {
  return [...output.matchAll(/^'[^']*' ([^_\s]+)_\S+ (\d+)/gm)].map(([, name = "", size]) => ({
    name,
    bytes: Number(size),
  }));
}

function aptFailure(stderr: string, { uri, suite }: AptArchive): InstallFailure {
  const reason = stderr.split("\n").find((line) => /^(E|Err|W):/.test(line)) ?? lastLine(stderr) ?? "no output";
  const message = `${uri} ${suite}: ${reason.replace(/^\w+:\s*/, "").trim()}`;
  if (/no space left|enough free space/i.test(stderr)) return failed("no-space", message);
  const network = /resolv|connect|timed out|unreachable|failed to fetch|did not end in time|\b5\d\d\b/i;
  return failed(network.test(stderr) ? "unreachable" : "refused", message);
}
