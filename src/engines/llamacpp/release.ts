import { z } from "zod";
import { compareNumbers } from "../../core/compare-numbers.ts";
import { err, ok, type Result } from "../../core/result.ts";

/** A published file, wherever it was listed. */
interface ReleaseAsset {
  readonly name: string;
  readonly url: string;
  /** 0: the listing does not say. */
  readonly bytes: number;
  /** Hex; undefined: the publisher announces none, and then the file is not used. */
  readonly sha256: string | undefined;
}

export interface Release {
  readonly tag: string;
  readonly assets: readonly ReleaseAsset[];
}

export interface BuildTarget {
  readonly os: string;
  readonly arch: string;
  /** Such as "2.36"; undefined: no GNU libc here. */
  readonly glibc: string | undefined;
  /** Undefined: no NVIDIA driver is loaded. Empty: one is, and it does not say which. */
  readonly driver: string | undefined;
}

/** What to fetch for one build. The archives are unpacked into one folder. */
export interface BuildPlan {
  readonly tag: string;
  /** cpu, or cuda-12.8 and its like. */
  readonly flavour: string;
  readonly usesCuda: boolean;
  readonly archives: readonly CheckedAsset[];
}

export interface CheckedAsset extends ReleaseAsset {
  readonly sha256: string;
}

export interface BuildPlans {
  /** The best first. */
  readonly plans: readonly BuildPlan[];
  /** A sentence for each build that this machine would want and cannot have. */
  readonly refusals: readonly string[];
}

/**
 * Binaries are on releases tagged b<number>, which are marked as pre-releases. The releases marked as stable hold one text
 * file that names such a tag, so "the latest release" is never the one to take.
 */
const TAG = /^b\d+$/;

const GithubRelease = z.object({
  tag_name: z.string(),
  draft: z.boolean().default(false),
  assets: z.array(
    z.object({
      name: z.string(),
      browser_download_url: z.url(),
      size: z.int().nonnegative(),
      state: z.string().default("uploaded"),
      digest: z.string().nullish(),
    }),
  ),
});

/** One release in GitHub's JSON. Files still being uploaded are left out. */
export function readGithubRelease(body: unknown): Release | undefined {
  const parsed = GithubRelease.safeParse(body);
  if (!parsed.success || parsed.data.draft || !TAG.test(parsed.data.tag_name)) return undefined;
  const whole = parsed.data.assets.filter((asset) => asset.state === "uploaded" && asset.size > 0);
  const assets = whole.map((asset) => ({
    name: asset.name,
    url: asset.browser_download_url,
    bytes: asset.size,
    sha256: /^sha256:([0-9a-f]{64})$/i.exec(asset.digest ?? "")?.[1]?.toLowerCase(),
  }));
  return { tag: parsed.data.tag_name, assets };
}

/** The releases with binaries in GitHub's list, the newest first. */
export function readGithubReleases(body: unknown): readonly Release[] {
  const releases = Array.isArray(body) ? body.map(readGithubRelease) : [];
  return releases.flatMap((release) => release ?? []).toSorted((a, b) => numberOf(b.tag) - numberOf(a.tag));
}

/** A mirror's `SHA256SUMS` as the releases whose files it lists, the newest first. Lines that are none are passed over. */
export function readSums(text: string, baseUrl: string): readonly Release[] {
  const base = baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`;
  const assets = text.split(/\r?\n/).flatMap((line): readonly ReleaseAsset[] => {
    const [, sha256, name] = /^([0-9a-f]{64}) [ *](?:\.\/)?(\S+)$/i.exec(line) ?? [];
    if (sha256 === undefined || name === undefined) return [];
    return [{ name, url: new URL(encodeURIComponent(name), base).href, bytes: 0, sha256: sha256.toLowerCase() }];
  });
  const tags = new Set(assets.flatMap(({ name }) => /-(b\d+)-bin-/.exec(name)?.[1] ?? []));
  return [...tags]
    .toSorted((a, b) => numberOf(b) - numberOf(a))
    .map((tag) => ({ tag, assets: assets.filter(({ name }) => name.includes(`-${tag}-bin-`)) }));
}

const numberOf = (tag: string): number => Number(tag.slice(1));

/** The tag that a version names: b11669, also written 11669. Undefined: whatever is newest. The error is a sentence. */
export function tagOf(version: string): Result<string | undefined, string> {
  if (version === "" || version === "latest") return ok(undefined);
  const tag = /^\d+$/.test(version) ? `b${version}` : version;
  if (TAG.test(tag)) return ok(tag);
  return err(`llama.cpp's builds have versions such as b11669; ${version} is none`);
}

/** Which builds of a release this machine can run: those for its GPUs first, the one for the CPU last. */
export function planBuilds(release: Release, target: BuildTarget): BuildPlans {
  const outcomes = offersOf(release, target).map((offer) => planOf(release, offer, target));
  const plans = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.value] : []));
  const refusals = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
  if (outcomes.length === 0) {
    refusals.push(`release ${release.tag} has no build for ${target.os} on ${target.arch}`);
  }
  return { plans, refusals };
}

interface Offer {
  readonly main: ReleaseAsset;
  /** Undefined: for the CPU. */
  readonly cuda: string | undefined;
}

const OS_NAMES: Readonly<Record<string, string>> = { linux: "ubuntu", darwin: "macos" };

function offersOf({ tag, assets }: Release, { os, arch, driver }: BuildTarget): readonly Offer[] {
  // Anchored at both ends: the runtime's archive holds the build's name in its own, and so do builds for other devices.
  const name = new RegExp(
    `^llama-${tag}-bin-${OS_NAMES[os] ?? "none"}-(?:cuda-(\\d+(?:\\.\\d+)*)-)?${arch}\\.tar\\.gz$`,
  );
  const offers = assets.flatMap((main): readonly Offer[] => {
    const match = name.exec(main.name);
    return match === null ? [] : [{ main, cuda: match[1] }];
  });
  const wanted = driver === undefined ? offers.filter(({ cuda }) => cuda === undefined) : offers;
  return wanted.toSorted((a, b) => compareNumbers(b.cuda ?? "0", a.cuda ?? "0"));
}

function planOf(release: Release, { main, cuda }: Offer, target: BuildTarget): Result<BuildPlan, string> {
  const reason = (cuda === undefined ? undefined : driverRefusal(cuda, target)) ?? libcRefusal(cuda, target);
  if (reason !== undefined) return err(`${main.name}: ${reason}`);
  const archives = [main, ...(cuda === undefined ? [] : [runtimeOf(release, cuda, target)])];
  const checked: CheckedAsset[] = [];
  for (const archive of archives) {
    if (archive === undefined)
      return err(`${main.name}: its CUDA runtime is not in the release; it may still be uploading`);
    const { sha256 } = archive;
    if (sha256 === undefined) return err(`${archive.name}: the release announces no sha256 for it`);
    checked.push({ ...archive, sha256 });
  }
  const flavour = cuda === undefined ? "cpu" : `cuda-${cuda}`;
  return ok({ tag: release.tag, flavour, usesCuda: cuda !== undefined, archives: checked });
}

function runtimeOf({ tag, assets }: Release, cuda: string, { arch }: BuildTarget): ReleaseAsset | undefined {
  const name = `cudart-llama-${tag}-bin-ubuntu-cuda-${cuda}-${arch}.tar.gz`;
  return assets.find((asset) => asset.name === name);
}

/** The oldest driver that runs programs of a CUDA major version, from NVIDIA's table of minor version compatibility. */
const OLDEST_DRIVER: Readonly<Record<string, string>> = { "11": "450", "12": "525", "13": "580" };

function driverRefusal(cuda: string, { driver = "" }: BuildTarget): string | undefined {
  const [major = ""] = cuda.split(".");
  const oldest = OLDEST_DRIVER[major];
  if (oldest === undefined) return `which driver CUDA ${major} needs is not known`;
  if (!/^\d/.test(driver)) return "the version of the NVIDIA driver is not known, so no CUDA build is guessed";
  if (compareNumbers(driver, oldest) >= 0) return undefined;
  return `CUDA ${cuda} needs an NVIDIA driver of ${oldest} or newer, this machine has ${driver}`;
}

/** What the builds' own build machines have: Ubuntu 22.04, and 24.04 for CUDA 13 and for everything that is not x64. */
function libcRefusal(cuda: string | undefined, { os, arch, glibc }: BuildTarget): string | undefined {
  if (os !== "linux") return undefined;
  const isNewer = arch !== "x64" || (cuda !== undefined && compareNumbers(cuda, "13") >= 0);
  const needed = isNewer ? "2.39" : "2.35";
  if (glibc === undefined) return `it needs glibc ${needed}, and this system has another C library`;
  return compareNumbers(glibc, needed) >= 0 ? undefined : `it needs glibc ${needed}, this system has ${glibc}`;
}
