import { describe, expect, test } from "vitest";
import { compareWheels, fitsPlatform, parseWheelName } from "./wheel-name.ts";

const UV = "uv-0.13.9-py3-none";
const name = (text: string) => {
  const parsed = parseWheelName(text);
  if (parsed === undefined) throw new Error(`${text} is no wheel`);
  return parsed;
};

describe("which wheel runs here", () => {
  const debian = { os: "linux", arch: "x64", glibc: "2.36" };
  const alpine = { os: "linux", arch: "x64", glibc: undefined };
  const grace = { os: "linux", arch: "arm64", glibc: "2.39" };
  const mac = { os: "darwin", arch: "arm64", glibc: undefined };
  test.each([
    { file: `${UV}-manylinux_2_17_x86_64.manylinux2014_x86_64.whl`, on: [debian] },
    { file: `${UV}-manylinux2014_x86_64.whl`, on: [debian] },
    { file: `${UV}-manylinux_2_38_x86_64.whl`, on: [] },
    { file: `${UV}-manylinux_2_28_aarch64.whl`, on: [grace] },
    { file: `${UV}-musllinux_1_1_x86_64.whl`, on: [alpine] },
    { file: `${UV}-macosx_11_0_arm64.whl`, on: [mac] },
    { file: `${UV}-win_amd64.whl`, on: [] },
    { file: `${UV}-linux_armv6l.whl`, on: [] },
    { file: `${UV}-linux_x86_64.whl`, on: [debian, alpine] },
    { file: "pkg-1.0-py3-none-any.whl", on: [debian, alpine, grace, mac] },
  ])("$file", ({ file, on }) => {
    expect([debian, alpine, grace, mac].filter((target) => fitsPlatform(name(file), target))).toEqual(on);
  });
});

test.each(["uv-0.13.9.tar.gz", "uv.whl", "", "a-b-c-d.whl", "../a-1-py3-none-any.whl"])("no wheel: %j", (text) => {
  expect(parseWheelName(text)).toBeUndefined();
});

test("of several that fit, the compiled one for the newest system comes first", () => {
  const files = [
    "x-1-py3-none-any.whl",
    "x-1-cp39-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    "x-1-cp39-abi3-manylinux_2_28_x86_64.whl",
    "x-1-cp311-cp311-manylinux_2_17_x86_64.whl",
  ];
  const sorted = files.toSorted((a, b) => compareWheels(name(a), name(b)));
  expect(sorted).toEqual([files[3], files[2], files[1], files[0]]);
});
