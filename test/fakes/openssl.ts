import { execFileSync, spawnSync } from "node:child_process";

/** The version, or undefined where the program is not installed. */
export const opensslVersion: string | undefined = (() => {
  const run = spawnSync("openssl", ["version"], { encoding: "utf8" });
  return run.status === 0 ? run.stdout.trim() : undefined;
})();

if (opensslVersion === undefined)
  console.warn("tests that compare with openssl are left out: it is not installed here");

/** What it prints; throws with its words when it fails. */
export const openssl = (args: readonly string[], cwd: string): string =>
  execFileSync("openssl", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
