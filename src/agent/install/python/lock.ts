import { basename } from "node:path";
import { err, ok, type Result } from "../../../core/result.ts";
import { compareWheels, parseWheelName, type WheelName } from "../../python-index/wheel-name.ts";

/** One file of a resolved environment. */
export interface LockedWheel {
  readonly project: string;
  readonly version: string;
  readonly file: string;
  readonly url: string;
  /** Hex. */
  readonly sha256: string;
  /** 0 when the index does not say. */
  readonly bytes: number;
}

interface Offered {
  readonly wheel: LockedWheel;
  readonly name: WheelName;
}

/**
 * Reads what uv resolved, in the form pylock.toml (PEP 751), as uv writes it: one package after the other, with only those
 * wheels that fit the environment. Of several the most special one is taken. The error is a sentence.
 */
export function readLock(text: string): Result<readonly LockedWheel[], string> {
  const packages = text.split(/^\[\[packages\]\]$/m).slice(1);
  const locked: LockedWheel[] = [];
  for (const one of packages) {
    const wheel = readPackage(one);
    if (!wheel.ok) return wheel;
    locked.push(wheel.value);
  }
  return locked.length > 0 ? ok(locked) : err("uv resolved nothing that could be read");
}

const field = (text: string, name: string): string | undefined =>
  new RegExp(`\\b${name}\\s*=\\s*"((?:[^"\\\\]|\\\\.)*)"`).exec(text)?.[1];

function readPackage(text: string): Result<LockedWheel, string> {
  const project = field(text, "name");
  const version = field(text, "version");
  if (project === undefined || version === undefined) return err("uv resolved a package without a name or a version");
  const wheels = text.split(/\{\s*(?=(?:name|url|path)\s*=)/).slice(1);
  const offered = wheels.flatMap((wheel) => readWheel(wheel, { project, version }) ?? []);
  const [best] = offered.toSorted((a, b) => compareWheels(a.name, b.name));
  if (best === undefined) return err(`the index announces no wheel with a sha256 for ${project} ${version}`);
  return ok(best.wheel);
}

function readWheel(text: string, of: Pick<LockedWheel, "project" | "version">): Offered | undefined {
  const url = field(text, "url") ?? "";
  const file = fileOf(url);
  const name = parseWheelName(file);
  const sha256 = (field(text, "sha256") ?? "").toLowerCase();
  if (name === undefined || !/^[0-9a-f]{64}$/.test(sha256)) return undefined;
  const size = Number(/\bsize\s*=\s*(\d+)/.exec(text)?.[1] ?? 0);
  return { name, wheel: { ...of, url, file, sha256, bytes: size } };
}

/** A plus sign in a version is written %2B in an address. */
function fileOf(url: string): string {
  try {
    return basename(decodeURIComponent(new URL(url).pathname));
  } catch {
    return "";
  }
}

/** What uv is to install and nothing else, each with the hash that its file must have. */
export const requirementsOf = (locked: readonly LockedWheel[]): string =>
  locked.map(({ project, version, sha256 }) => `${project}==${version} --hash=sha256:${sha256}\n`).join("");

/** CUDA's version that the environment brings, such as "13.0"; undefined: none, it is for the CPU. */
export function cudaOf(locked: readonly LockedWheel[]): string | undefined {
  const runtime = locked.find(({ project }) => /^nvidia-cuda-runtime(-cu\d+)?$/.test(project));
  return runtime === undefined ? undefined : runtime.version.split(".").slice(0, 2).join(".");
}
