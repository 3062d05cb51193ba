import { expect, test } from "vitest";
import { type Place, placeName, placeOf, uvPlace } from "./place.ts";
import { waysFor } from "./resolve.ts";

const NO_PIP = { PIP_CONFIG_FILE: "/dev/null", HOME: "/nonexistent" };
const python = {
  name: "vllm",
  requiresPython: ">=3.10",
  program: "vllm",
  selfTest: ["--help"],
  buildsFor: (version: string, backend: string) => `https://wheels.example/${version}/${backend}`,
};
const own: Place = { kind: "index", main: "https://pypi.org/simple", others: [], isOwn: true };
const mirror: Place = { ...own, isOwn: false };
const folder: Place = { kind: "folder", path: "/srv/wheels" };

test.each([
  {
    name: "a driver for CUDA 13",
    place: own,
    driver: "580.95",
    args: [[], ["--torch-backend", "auto"]],
    builds: "cu130",
  },
  {
    name: "a driver for CUDA 12",
    place: own,
    driver: "570.1",
    args: [[], ["--torch-backend", "auto"]],
    builds: "cu129",
  },
  { name: "no driver", place: own, driver: undefined, args: [["--torch-backend", "cpu"]], builds: "cpu" },
  { name: "a driver too old for any", place: own, driver: "470.1", args: [[]], builds: undefined },
  { name: "a mirror", place: mirror, driver: "580.95", args: [[]], builds: undefined },
  { name: "a folder", place: folder, driver: undefined, args: [[]], builds: undefined },
])("ways to choose the builds of PyTorch with $name", ({ place, driver, args, builds }) => {
  const ways = waysFor({ place, driver, version: "1.0", python });
  expect(ways.map((way) => way.args)).toEqual(args);
  expect(ways.at(-1)?.indexes).toEqual(builds === undefined ? [] : [`https://wheels.example/1.0/${builds}`]);
  const told = ways.at(-1)?.env["UV_CUDA_DRIVER_VERSION"];
  expect(told).toBe(args.at(-1)?.includes("auto") === true ? driver : undefined);
});

test.each([
  { source: "pypi", env: {}, want: own },
  { source: "pypi", env: { PIP_INDEX_URL: "https://pip.example/s/" }, want: { ...own, main: "https://pip.example/s" } },
  {
    source: "pypi",
    env: {
      UV_DEFAULT_INDEX: "https://uv.example/s",
      UV_INDEX: "https://a.example https://b.example",
      PIP_INDEX_URL: "https://pip.example",
    },
    want: { ...own, main: "https://uv.example/s", others: ["https://a.example", "https://b.example"] },
  },
  {
    source: "https://m.example/simple",
    env: { PIP_INDEX_URL: "x" },
    want: { ...mirror, main: "https://m.example/simple" },
  },
  {
    source: "https://m.example/{backend}/simple",
    env: {},
    want: { ...mirror, main: "https://m.example/cu129/simple" },
  },
  { source: "/srv/wheels/{backend}", env: {}, want: { kind: "folder", path: "/srv/wheels/cu129" } },
  { source: "file:///srv/my%20wheels", env: {}, want: { kind: "folder", path: "/srv/my wheels" } },
])("$source with $env is where packages come from", async ({ source, env, want }) => {
  expect(await placeOf(source, "cu129", { ...NO_PIP, ...env })).toEqual(want);
});

test("addresses go to uv by its environment, since they may hold passwords, and to people by their host", () => {
  const secret: Place = { ...own, main: "https://u:p@m.example/simple", others: ["https://x.example"] };
  expect(uvPlace(secret, ["https://first.example"])).toEqual({
    args: [],
    env: { UV_DEFAULT_INDEX: "https://u:p@m.example/simple", UV_INDEX: "https://first.example https://x.example" },
  });
  expect(uvPlace(folder)).toEqual({ args: ["--no-index", "--find-links", "/srv/wheels"], env: {} });
  expect([placeName(secret), placeName(folder)]).toEqual(["m.example", "/srv/wheels"]);
});
