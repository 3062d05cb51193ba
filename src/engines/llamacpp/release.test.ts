import { describe, expect, test } from "vitest";
import { type BuildTarget, planBuilds, readGithubRelease, readGithubReleases, readSums, tagOf } from "./release.ts";

const sha = (digit: string): string => digit.repeat(64);
const url = (tag: string, name: string): string =>
  `https://github.com/ggml-org/llama.cpp/releases/download/${tag}/${name}`;

/** Made to look like a release of the autumn of 2026, in the order of GitHub's list: by name. */
const namesOf = (tag: string): readonly string[] => [
  `cudart-llama-bin-win-cuda-12.8-x64.zip`,
  `cudart-llama-${tag}-bin-ubuntu-cuda-12.8-x64.tar.gz`,
  `cudart-llama-${tag}-bin-ubuntu-cuda-13.4-arm64.tar.gz`,
  `cudart-llama-${tag}-bin-ubuntu-cuda-13.4-x64.tar.gz`,
  `llama-${tag}-bin-android-arm64.tar.gz`,
  `llama-${tag}-bin-macos-arm64.tar.gz`,
  `llama-${tag}-bin-macos-x64.tar.gz`,
  `llama-${tag}-bin-ubuntu-arm64.tar.gz`,
  `llama-${tag}-bin-ubuntu-cuda-12.8-x64.tar.gz`,
  `llama-${tag}-bin-ubuntu-cuda-13.4-arm64.tar.gz`,
  `llama-${tag}-bin-ubuntu-cuda-13.4-x64.tar.gz`,
  `llama-${tag}-bin-ubuntu-rocm-10.0-x64.tar.gz`,
  `llama-${tag}-bin-ubuntu-s390x.tar.gz`,
  `llama-${tag}-bin-ubuntu-sycl-fp16-x64.tar.gz`,
  `llama-${tag}-bin-ubuntu-vulkan-arm64.tar.gz`,
  `llama-${tag}-bin-ubuntu-vulkan-x64.tar.gz`,
  `llama-${tag}-bin-ubuntu-x64.tar.gz`,
  `llama-${tag}-bin-win-cpu-x64.zip`,
  `llama-${tag}-xcframework.zip`,
];

interface Change {
  readonly size?: number;
  readonly state?: string;
  readonly digest?: string | null;
}

function githubRelease(tag: string, changes: Readonly<Record<string, Change | "missing">> = {}): unknown {
  const assets = namesOf(tag).flatMap((name) => {
    const change = changes[name.replaceAll(tag, "TAG")] ?? {};
    if (change === "missing") return [];
    const asset = {
      name,
      browser_download_url: url(tag, name),
      size: 1000,
      state: "uploaded",
      digest: `sha256:${sha("a")}`,
    };
    return [{ ...asset, ...change }];
  });
  return { tag_name: tag, draft: false, prerelease: true, assets };
}

const target: BuildTarget = { os: "linux", arch: "x64", glibc: "2.36", driver: undefined };

function planned(change: Partial<BuildTarget>, changes: Parameters<typeof githubRelease>[1] = {}) {
  const release = readGithubRelease(githubRelease("b11500", changes));
  if (release === undefined) throw new Error("not read");
  return planBuilds(release, { ...target, ...change });
}

const archives = (change: Partial<BuildTarget>): readonly (readonly string[])[] =>
  planned(change).plans.map((plan) => plan.archives.map((archive) => archive.name.replaceAll("b11500", "TAG")));

const CPU = ["llama-TAG-bin-ubuntu-x64.tar.gz"];
const CUDA_12 = ["llama-TAG-bin-ubuntu-cuda-12.8-x64.tar.gz", "cudart-llama-TAG-bin-ubuntu-cuda-12.8-x64.tar.gz"];
const CUDA_13 = ["llama-TAG-bin-ubuntu-cuda-13.4-x64.tar.gz", "cudart-llama-TAG-bin-ubuntu-cuda-13.4-x64.tar.gz"];

describe("planBuilds", () => {
  test.each<{ name: string; change: Partial<BuildTarget>; want: readonly (readonly string[])[] }>([
    { name: "no driver: the CPU's, not one for Vulkan, ROCm or SYCL", change: {}, want: [CPU] },
    {
      name: "a new driver and a new libc",
      change: { driver: "580.65.06", glibc: "2.39" },
      want: [CUDA_13, CUDA_12, CPU],
    },
    { name: "a new driver, an older libc", change: { driver: "595.91.07", glibc: "2.36" }, want: [CUDA_12, CPU] },
    { name: "an older driver", change: { driver: "535.129.03", glibc: "2.41" }, want: [CUDA_12, CPU] },
    { name: "a driver that is too old", change: { driver: "470.256.02" }, want: [CPU] },
    { name: "B71 a driver of unknown version", change: { driver: "" }, want: [CPU] },
    { name: "arm64", change: { arch: "arm64", glibc: "2.39" }, want: [["llama-TAG-bin-ubuntu-arm64.tar.gz"]] },
    {
      name: "arm64 with a GPU: there is no CUDA 12 for it",
      change: { arch: "arm64", glibc: "2.39", driver: "580.95" },
      want: [
        ["llama-TAG-bin-ubuntu-cuda-13.4-arm64.tar.gz", "cudart-llama-TAG-bin-ubuntu-cuda-13.4-arm64.tar.gz"],
        ["llama-TAG-bin-ubuntu-arm64.tar.gz"],
      ],
    },
    {
      name: "macOS",
      change: { os: "darwin", arch: "arm64", glibc: undefined },
      want: [["llama-TAG-bin-macos-arm64.tar.gz"]],
    },
    { name: "a libc that is too old", change: { glibc: "2.31" }, want: [] },
    { name: "musl", change: { glibc: undefined }, want: [] },
    { name: "an architecture without builds", change: { arch: "riscv64" }, want: [] },
    { name: "another operating system", change: { os: "freebsd" }, want: [] },
  ])("$name", ({ change, want }) => {
    expect(archives(change)).toEqual(want);
  });

  test.each<{ name: string; change: Partial<BuildTarget>; says: string }>([
    {
      name: "an old libc",
      change: { driver: "595.91" },
      says: "llama-b11500-bin-ubuntu-cuda-13.4-x64.tar.gz: it needs glibc 2.39, this system has 2.36",
    },
    {
      name: "an old driver",
      change: { driver: "470.2" },
      says: "llama-b11500-bin-ubuntu-cuda-12.8-x64.tar.gz: CUDA 12.8 needs an NVIDIA driver of 525 or newer, this machine has 470.2",
    },
    {
      name: "B71 an unknown driver",
      change: { driver: "" },
      says: "llama-b11500-bin-ubuntu-cuda-12.8-x64.tar.gz: the version of the NVIDIA driver is not known, so no CUDA build is guessed",
    },
    {
      name: "musl",
      change: { glibc: undefined },
      says: "llama-b11500-bin-ubuntu-x64.tar.gz: it needs glibc 2.35, and this system has another C library",
    },
    { name: "no such build", change: { arch: "riscv64" }, says: "release b11500 has no build for linux on riscv64" },
  ])("says why: $name", ({ change, says }) => {
    expect(planned(change).refusals).toContain(says);
  });

  test.each<{ name: string; changes: Parameters<typeof githubRelease>[1]; plans: readonly string[]; says: string }>([
    {
      name: "the runtime is not uploaded yet",
      changes: { "cudart-llama-TAG-bin-ubuntu-cuda-12.8-x64.tar.gz": { state: "starter", size: 0 } },
      plans: ["cpu"],
      says: "its CUDA runtime is not in the release",
    },
    {
      name: "the build is not uploaded yet",
      changes: { "llama-TAG-bin-ubuntu-cuda-12.8-x64.tar.gz": "missing" },
      plans: ["cpu"],
      says: "cuda-13.4",
    },
    {
      name: "no digest",
      changes: { "llama-TAG-bin-ubuntu-x64.tar.gz": { digest: null } },
      plans: ["cuda-12.8"],
      says: "llama-b11500-bin-ubuntu-x64.tar.gz: the release announces no sha256 for it",
    },
    {
      name: "a digest of another kind",
      changes: { "cudart-llama-TAG-bin-ubuntu-cuda-12.8-x64.tar.gz": { digest: "md5:abc" } },
      plans: ["cpu"],
      says: "cudart-llama-b11500-bin-ubuntu-cuda-12.8-x64.tar.gz: the release announces no sha256",
    },
  ])("$name", ({ changes, plans, says }) => {
    const outcome = planned({ driver: "595.1" }, changes);
    expect(outcome.plans.map((plan) => plan.flavour)).toEqual(plans);
    expect(outcome.refusals.join("\n")).toContain(says);
  });

  test("versions come from the names: a minor version that nobody has seen is taken", () => {
    const name = "llama-b11500-bin-ubuntu-cuda-12.10-x64.tar.gz";
    const asset = (of: string) => ({ name: of, url: url("b11500", of), bytes: 1, sha256: sha("a") });
    const release = {
      tag: "b11500",
      assets: [asset(CUDA_12[0]?.replace("TAG", "b11500") ?? ""), asset(name), asset(`cudart-${name}`)],
    };
    expect(planBuilds(release, { ...target, driver: "595.1" }).plans.map((plan) => plan.flavour)).toEqual([
      "cuda-12.10",
    ]);
  });
});

describe("GitHub's releases", () => {
  test("stable releases hold no binaries and are passed over, and so are drafts; the newest comes first", () => {
    const stable = {
      tag_name: "v0.5.0",
      prerelease: false,
      assets: [{ name: "nightly-tag.txt", browser_download_url: url("v0.5.0", "nightly-tag.txt"), size: 7 }],
    };
    const draft = { ...(githubRelease("b11600") as object), draft: true };
    const releases = readGithubReleases([stable, githubRelease("b9999"), draft, githubRelease("b11500")]);
    expect(releases.map((release) => release.tag)).toEqual(["b11500", "b9999"]);
  });

  test.each([{}, [], null, { message: "Not Found" }, "text"])("%j is no release", (body) => {
    expect(readGithubRelease(body)).toBeUndefined();
  });
});

describe("a mirror's SHA256SUMS", () => {
  const text = [
    `${sha("1")}  llama-b11500-bin-ubuntu-x64.tar.gz`,
    `${sha("2")} *llama-b11400-bin-ubuntu-x64.tar.gz`,
    `${sha("3")}  ./cudart-llama-b11500-bin-ubuntu-cuda-12.8-x64.tar.gz`,
    `${sha("4")}  README`,
    "not a line",
    "",
  ].join("\n");

  test.each(["http://mirror.test/llama", "http://mirror.test/llama/"])("names become addresses below %s", (base) => {
    const releases = readSums(text, base);
    expect(releases.map((release) => release.tag)).toEqual(["b11500", "b11400"]);
    expect(releases[0]?.assets).toEqual([
      {
        name: "llama-b11500-bin-ubuntu-x64.tar.gz",
        url: "http://mirror.test/llama/llama-b11500-bin-ubuntu-x64.tar.gz",
        bytes: 0,
        sha256: sha("1"),
      },
      {
        name: "cudart-llama-b11500-bin-ubuntu-cuda-12.8-x64.tar.gz",
        url: "http://mirror.test/llama/cudart-llama-b11500-bin-ubuntu-cuda-12.8-x64.tar.gz",
        bytes: 0,
        sha256: sha("3"),
      },
    ]);
  });

  test("a page that is none lists nothing", () => {
    expect(readSums("<html>404</html>", "http://mirror.test")).toEqual([]);
  });
});

test.each([
  { version: "b11669", want: "b11669" },
  { version: "11669", want: "b11669" },
  { version: "latest", want: undefined },
  { version: "", want: undefined },
])("version $version is the tag $want", ({ version, want }) => {
  expect(tagOf(version)).toEqual({ ok: true, value: want });
});

test.each(["v0.7.0", "b11669/../..", "master"])("%s is no version", (version) => {
  expect(tagOf(version)).toEqual({
    ok: false,
    error: `llama.cpp's builds have versions such as b11669; ${version} is none`,
  });
});
