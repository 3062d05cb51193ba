// Starts llmgw with Node's compile cache: what Node made of each source file, its types stripped, is kept and read again at
// the next start. A start takes less time, and the program that strips types, 20 MiB of memory, is not loaded at all.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { constants, enableCompileCache } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const argv = process.argv.slice(2);
const FILL_WITHIN_MS = 60_000;

/** --data-dir is the promise that nothing is written elsewhere. "": there is no place for it. */
function cacheFolder() {
  const at = argv.findLastIndex((word) => word === "--data-dir" || word.startsWith("--data-dir="));
  const dataDir = argv[at] === "--data-dir" ? argv[at + 1] : argv[at]?.slice("--data-dir=".length);
  if (dataDir) return resolve(dataDir, "cache");
  if (process.getuid?.() === 0) return "/var/cache/llmgw";
  const { HOME: home = "", XDG_CACHE_HOME: named = "" } = process.env;
  if (isAbsolute(named)) return join(named, "llmgw");
  return isAbsolute(home) ? join(home, ".cache", "llmgw") : "";
}

/** What the cache was filled from and for: this Node with these flags, and sources of which none is newer. */
function present() {
  const root = fileURLToPath(new URL("../src", import.meta.url));
  const times = readdirSync(root, { recursive: true }).map((name) => statSync(join(root, name)).mtimeMs);
  return [process.version, ...process.execArgv, Math.max(...times)].join(" ");
}

function contentOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * An agent runs for months, and what its first start loads it holds for good. So that it finds the cache full, another
 * process loads everything before it, once. Without that an agent takes more memory, and nothing else.
 */
function fillForAgent(folder) {
  const filled = join(folder, "filled-for-agents");
  const wanted = present();
  if (contentOf(filled) === wanted) return;
  const program = fileURLToPath(new URL("load-agent.mjs", import.meta.url));
  const { status } = spawnSync(process.execPath, [...process.execArgv, program, "agent", "--version"], {
    env: { ...process.env, NODE_COMPILE_CACHE: folder },
    stdio: "ignore",
    timeout: FILL_WITHIN_MS,
  });
  try {
    if (status === 0) writeFileSync(filled, wanted);
  } catch {
    // A full disk: the next start does it again.
  }
}

// A folder that is named by the environment is in use already.
const folder = process.env.NODE_COMPILE_CACHE || cacheFolder();
const { ENABLED, ALREADY_ENABLED } = constants.compileCacheStatus;
if (folder !== "" && [ENABLED, ALREADY_ENABLED].includes(enableCompileCache(folder).status)) {
  // For programs of ours that this one runs.
  process.env.NODE_COMPILE_CACHE = folder;
  if (argv[0] === "agent") fillForAgent(folder);
}
await import("../src/main.ts");
