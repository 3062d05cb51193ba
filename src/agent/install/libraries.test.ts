import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { InstallBench } from "../../../test/fakes/install-bench.ts";
import { readTextIfThere } from "../../platform/files.ts";

const bench = new InstallBench();

/** A real program of this machine, made to need a library that machines without a desktop do not have. */
async function needyLibrary(): Promise<string | undefined> {
  const libraries = execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  const bytes = await readFile("/bin/ls");
  const at = bytes.indexOf("libselinux.so.1\0");
  if (at < 0 || libraries.includes("libvulkan.so.1")) return undefined;
  bytes.write("libvulkan.so.1\0", at, "latin1");
  const path = join(bench.base, "libneedy.so");
  await writeFile(path, bytes);
  return path;
}

const INSTALL = "install -y -q --no-install-recommends libvulkan1";

test.for<{ name: string; isRoot: boolean; script: string; asked: readonly string[]; want: object }>([
  {
    name: "as root the package is installed",
    isRoot: true,
    script: "",
    asked: [INSTALL],
    want: { version: "b1" },
  },
  {
    name: "a list of packages that is missing is fetched first",
    isRoot: true,
    script: 'test -e "$0.updated" && exit 0; test "$1" = update && touch "$0.updated" && exit 0; exit 100',
    asked: [INSTALL, "update -q", INSTALL],
    want: { version: "b1" },
  },
  {
    name: "a package that cannot be installed",
    isRoot: true,
    script: "echo 'E: Unable to locate package libvulkan1' >&2; exit 100",
    asked: [INSTALL, "update -q", INSTALL],
    want: { kind: "missing-library", message: expect.stringMatching(/failed: E: Unable to locate package/) as string },
  },
  {
    name: "not as root the command is named, and nothing is run",
    isRoot: false,
    script: "",
    asked: [],
    want: {
      kind: "missing-library",
      message: `cpu of b1: missing library libvulkan.so.1: as root, run apt-get ${INSTALL}`,
    },
  },
])("B68 $name", async ({ isRoot, script, asked, want }, context) => {
  const library = await needyLibrary();
  if (library === undefined) return context.skip("this machine has Vulkan, or its ls needs no libselinux");
  await bench.publish("b1", { files: { "llama-b1/libggml-needy.so": { copyOf: library } } });
  const log = join(bench.base, "asked");
  await bench.program("tools", `echo "$@" >> ${log}\n${script}`, "apt-get");
  const env = { PATH: `${join(bench.base, "tools")}:/usr/bin:/bin` };
  const outcome = await bench.ensure({ version: "b1", source: bench.server.mirror }, { isRoot, env });
  expect(outcome).toMatchObject(want);
  const lines = ((await readTextIfThere(log)) ?? "").split("\n").filter((line) => line !== "");
  expect(lines).toEqual(asked);
});
