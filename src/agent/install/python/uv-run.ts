import { join } from "node:path";
import type { Millis } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { runProgram } from "../../../platform/run.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { ABORTED, failed, type InstallFailure } from "../failure.ts";
import { proxiesOf } from "../libraries.ts";
import { mortal } from "../mortal.ts";
import { explainUv } from "./uv-words.ts";

/** uv, with the folders of one installation. */
export interface Uv {
  /** What it wrote to its standard output; a failure in words when it did not end well. */
  run(args: readonly [string, ...string[]], options: UvOptions): Promise<Result<string, InstallFailure>>;
}

interface UvOptions {
  readonly timeout: Millis;
  readonly request: InstallRequest;
  /** Indexes are named here and not in the arguments, since an address may hold a password. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The first that is set holds the authorities that uv is to trust; else the system's store does. */
const CERTIFICATE_FILES = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"] as const;

export function uvIn(
  context: InstallContext,
  { program, folder }: { readonly program: string; readonly folder: string },
): Uv {
  const environment = uvEnvironment(context, folder);
  return {
    async run(args, { timeout, request, env }) {
      const outcome = await runProgram(await mortal([program, ...args], timeout), {
        env: { ...environment, ...env },
        cwd: folder,
        // `mortal` is for when this process is gone; until then it is this limit that ends it.
        timeout,
        signal: request.signal,
      });
      if (outcome.kind === "notStarted") return err(failed("missing-tool", outcome.message));
      if (outcome.code === 0) return ok(outcome.stdout);
      if (request.signal.aborted) return err(ABORTED);
      if (!outcome.timedOut) return err(explainUv(outcome.stderr));
      return err(
        failed("unreachable", `uv ${args[0]} did not come to an end within ${String(timeout / 60_000)} minutes`),
      );
    },
  };
}

function uvEnvironment(
  { env, folder: engineFolder }: InstallContext,
  folder: string,
): Readonly<Record<string, string>> {
  const certificates = CERTIFICATE_FILES.map((name) => env[name]).find((file) => file !== undefined && file !== "");
  return {
    PATH: env["PATH"] ?? "",
    // A .netrc with logins for an index is looked for there.
    HOME: env["HOME"] ?? folder,
    LANG: "C.UTF-8",
    NO_COLOR: "1",
    UV_NO_PROGRESS: "1",
    // Only what is said here counts, and not a file that somebody wrote for projects of their own.
    UV_NO_CONFIG: "1",
    UV_SYSTEM_CERTS: "1",
    UV_NATIVE_TLS: "1",
    ...(certificates === undefined ? {} : { SSL_CERT_FILE: certificates }),
    ...(env["SSL_CERT_DIR"] === undefined ? {} : { SSL_CERT_DIR: env["SSL_CERT_DIR"] }),
    UV_CACHE_DIR: join(folder, "cache"),
    // Pythons that uv fetches itself are for all engines and versions.
    UV_PYTHON_INSTALL_DIR: join(engineFolder, "..", "python"),
    ...proxiesOf(env),
  };
}
