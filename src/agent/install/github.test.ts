import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { engineArchive, packArchive } from "../../../test/fakes/engine-archive.ts";
import { CPU, github, InstallBench, pathOf, request, SAYS_VERSION } from "../../../test/fakes/install-bench.ts";
import type { Progress } from "../../core/replica-state.ts";

const bench = new InstallBench();

describe("from GitHub", () => {
  test("the build for this machine is fetched, tried, and not fetched again", async () => {
    await bench.publish("b11669");
    const seen: Progress[] = [];
    const { signal } = new AbortController();
    const outcome = await bench.provider().ensure("llama.cpp", github("b11669"), {
      onProgress: (progress) => seen.push(progress),
      signal,
    });
    expect(outcome).toEqual({
      ok: true,
      value: {
        name: "llama.cpp",
        version: "b11669",
        origin: "installed",
        path: join(bench.enginesDir, "llama.cpp/b11669-cpu/build/llama-b11669/llama-server"),
        devices: [],
      },
    });
    expect(seen.at(-1)?.what).toBe("llama.cpp b11669 (cpu)");
    expect(seen.at(-1)?.bytesDone).toBe(seen.at(-1)?.bytesTotal);
    expect(await bench.leftovers()).toEqual([]);
    const fetched = bench.server.fileRequests.length;
    expect(await bench.ensure(github("b11669"))).toMatchObject({ version: "b11669", origin: "installed" });
    expect(bench.server.fileRequests.length).toBe(fetched);
    expect(bench.server.apiRequests.length).toBe(1);
    expect((await bench.provider().found("llama.cpp")).builds.map((build) => build.version)).toEqual(["b11669"]);
  });

  test("B72 an executable deeper in the archive, libraries linked to each other", async () => {
    const files = {
      "build/bin/libllama.so": { linkTo: "libllama.so.0" },
      "build/bin/libllama.so.0": { linkTo: "libllama.so.0.0.9281" },
      "build/bin/libllama.so.0.0.9281": "library",
    };
    await bench.publish("b9281", { path: "build/bin/llama-server", files });
    const build = await bench.ensure(github("b9281"));
    const path = pathOf(build);
    expect(path.endsWith("/build/bin/llama-server")).toBe(true);
    expect(await readFile(join(path, "../libllama.so"), "utf8")).toBe("library");
  });

  test("without a version the newest release that is whole is taken", async () => {
    const archive = await engineArchive({ version: "b300" });
    bench.server.releases = [
      { tag: "b301", assets: { [CPU("b301")]: undefined } },
      { tag: "b300", assets: { [CPU("b300")]: archive } },
    ];
    expect(await bench.ensure(undefined)).toMatchObject({ version: "b300" });
  });

  test("the token goes to the API and to nobody else", async () => {
    await bench.publish("b1");
    await bench.ensure(github("b1"), { env: { GITHUB_TOKEN: "ghp_secret" } });
    expect(bench.server.apiRequests.map((one) => one.authorization)).toEqual(["Bearer ghp_secret"]);
    expect(bench.server.fileRequests.every((one) => one.authorization === undefined)).toBe(true);
  });

  test("a tag that does not exist is the operator's mistake: nothing stands in", async () => {
    await bench.publish("b1");
    expect(await bench.ensure(github("b2"))).toEqual({
      kind: "not-found",
      message: "GitHub has no release b2 of ggml-org/llama.cpp",
      retry: false,
    });
  });

  test.each([
    { name: "403", status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800" } },
    { name: "429", status: 429, headers: { "retry-after": "60" } },
  ])("B66 after one $name no further call is made, and Debian is tried", async ({ status, headers }) => {
    bench.server.interceptApi = (_request, response) => {
      response.writeHead(status, headers);
      response.end();
      return true;
    };
    const engines = bench.provider();
    const outcomes = [
      await engines.ensure("llama.cpp", github("b1"), request()),
      await engines.ensure("llama.cpp", github("b2"), request()),
    ];
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ ok: false, error: { kind: "rate-limited", retry: true } });
      const message = outcome.ok ? "" : outcome.error.message;
      expect(message).toMatch(/GitHub: .*no more requests before .*Debian: .*needs apt-get/);
    }
    expect(bench.server.apiRequests.length).toBe(1);
  });

  test("a checksum that differs", async () => {
    await bench.publish("b1");
    bench.server.releases = bench.server.releases.map((release) => ({
      ...release,
      digest: `sha256:${"0".repeat(64)}`,
    }));
    expect(await bench.ensure(github("b1"))).toMatchObject({ kind: "checksum", retry: false });
    expect(await bench.leftovers()).toEqual([]);
  });

  test("no checksum at all", async () => {
    await bench.publish("b1");
    bench.server.releases = bench.server.releases.map((release) => ({ ...release, digest: null }));
    expect(await bench.ensure(github("b1"))).toMatchObject({
      kind: "no-build",
      message: expect.stringContaining("the release announces no sha256") as string,
    });
    expect(bench.server.fileRequests).toEqual([]);
  });

  test("B72 an archive with a link that leads outside", async () => {
    await bench.publish("b1", { files: { "llama-b1/evil": { linkTo: "../../../../etc" } } });
    expect(await bench.ensure(github("b1"))).toMatchObject({
      kind: "bad-archive",
      message: expect.stringContaining("leads outside") as string,
      retry: false,
    });
    expect(await bench.leftovers()).toEqual([]);
  });

  test("an archive without the program", async () => {
    bench.server.releases = [{ tag: "b1", assets: { [CPU("b1")]: await packArchive({ README: "nothing else" }) } }];
    expect(await bench.ensure(github("b1"))).toMatchObject({
      kind: "bad-archive",
      message: expect.stringContaining("holds no llama-server") as string,
    });
    expect(await bench.leftovers()).toEqual([]);
  });

  const LOADER = "error while loading shared libraries: libx.so.1: cannot open shared object file: No such file";
  test.each([
    { name: "B69 an instruction that this CPU lacks", script: "kill -ILL $$", says: "illegal instruction" },
    {
      name: "B68 a library that nobody has",
      script: `echo '${LOADER}' >&2; exit 127`,
      says: "missing library libx.so.1",
    },
    { name: "a failure", script: "echo broken >&2; exit 3", says: "exit code 3: broken" },
    { name: "a good version but no token", script: SAYS_VERSION, says: "it ended by itself" },
  ])("a build that does not run: $name", async ({ script, says }) => {
    await bench.publish("b1", { script });
    expect(await bench.ensure(github("b1"))).toMatchObject({
      kind: "does-not-run",
      message: expect.stringContaining(says) as string,
      retry: false,
    });
    expect(await bench.leftovers()).toEqual([]);
  });

  test("a disk that becomes full", async (context) => {
    await mkdir(bench.enginesDir);
    try {
      execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", bench.enginesDir], { stdio: "ignore" });
    } catch {
      context.skip("a small disk can be mounted by root only");
    }
    try {
      await bench.publish("b1");
      expect(await bench.ensure(github("b1"))).toMatchObject({ kind: "no-space", retry: false });
      expect(await bench.leftovers()).toEqual([]);
    } finally {
      execFileSync("/bin/umount", [bench.enginesDir]);
    }
  });

  test("a folder that cannot be made", async () => {
    await writeFile(bench.enginesDir, "a file");
    await bench.publish("b1");
    expect(await bench.ensure(github("b1"))).toMatchObject({
      kind: "refused",
      message: expect.stringContaining(`engines cannot be installed in ${bench.enginesDir}`) as string,
      retry: false,
    });
  });
});
