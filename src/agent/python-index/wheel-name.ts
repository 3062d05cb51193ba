import { compareNumbers } from "../../core/compare-numbers.ts";

/** What the name of a wheel says. */
export interface WheelName {
  readonly project: string;
  readonly version: string;
  readonly pythons: readonly string[];
  readonly abis: readonly string[];
  /** Such as manylinux_2_28_x86_64, or any. */
  readonly platforms: readonly string[];
}

/** NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl */
const WHEEL_NAME = /^([^-/]+)-([^-/]+)(?:-\d[^-/]*)?-([^-/]+)-([^-/]+)-([^-/]+)\.whl$/;

export function parseWheelName(name: string): WheelName | undefined {
  const [, project, version, python, abi, platform] = WHEEL_NAME.exec(name) ?? [];
  if (project === undefined || version === undefined || python === undefined) return undefined;
  return { project, version, pythons: tags(python), abis: tags(abi), platforms: tags(platform) };
}

const tags = (text = ""): readonly string[] => text.split(".");

/** A machine as wheels name them. */
export interface WheelTarget {
  /** As Node names it. */
  readonly os: string;
  readonly arch: string;
  /** Such as "2.36"; undefined where there is no GNU libc. */
  readonly glibc: string | undefined;
}

/** Whether a wheel's programs run on the machine. */
export const fitsPlatform = ({ platforms }: WheelName, target: WheelTarget): boolean =>
  platforms.some((tag) => tag === "any" || fitsTag(tag, target));

/** The glibc of the older names. */
const NAMED_GLIBC: Readonly<Record<string, string>> = { "1": "2_5", "2010": "2_12", "2014": "2_17" };
const ARCHES: Readonly<Record<string, readonly string[]>> = {
  x64: ["x86_64", "universal2"],
  arm64: ["aarch64", "arm64", "universal2"],
};

function fitsTag(tag: string, { os, arch, glibc }: WheelTarget): boolean {
  const [, family = "", version = "", machine = ""] = TAG.exec(tag) ?? [];
  const fits = FAMILIES[family];
  return fits !== undefined && ARCHES[arch]?.includes(machine) === true && fits({ os, glibc, version });
}

const TAG = /^(manylinux|musllinux|macosx|linux)_?(\d+_\d+|1|2010|2014)?_(.+)$/;

type Asked = Pick<WheelTarget, "os" | "glibc"> & { readonly version: string };

const FAMILIES: Readonly<Record<string, (asked: Asked) => boolean>> = {
  manylinux: ({ os, glibc, version }) =>
    os === "linux" && compareNumbers(glibc ?? "", NAMED_GLIBC[version] ?? version) >= 0,
  musllinux: ({ os, glibc }) => os === "linux" && glibc === undefined,
  linux: ({ os }) => os === "linux",
  macosx: ({ os }) => os === "darwin",
};

/** The most special first: of several wheels that all fit, the compiled one, and the one for the newest system. */
export function compareWheels(a: WheelName, b: WheelName): number {
  const [left, right] = [specialty(a), specialty(b)];
  const differences = left.map((value, i) => (right[i] ?? 0) - value);
  return differences.find((difference) => difference !== 0) ?? 0;
}

function specialty({ abis, platforms }: WheelName): readonly number[] {
  const glibcs = platforms.map((tag) => Number(/^manylinux_\d+_(\d+)_/.exec(tag)?.[1] ?? 0));
  const isCompiled = !platforms.includes("any");
  return [Number(isCompiled), Number(abis.some((abi) => /^cp\d/.test(abi))), Math.max(0, ...glibcs)];
}
