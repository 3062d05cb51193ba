import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PythonBench, standIn } from "../../../../test/fakes/python-bench.ts";
import { pythonEngine } from "../../../../test/fakes/python-engine.ts";
import type { Engine } from "../../../engines/engine.ts";

const bench = new PythonBench();
/** Programs of Python are started, and a machine may have better things to do. */
const SLOW = { timeout: 60_000 };
const containing = (text: string): string => expect.stringContaining(text) as string;

describe("from the machine's own index", SLOW, () => {
  test("an environment is made and tried, and not made again", async () => {
    bench.publish(standIn("1.0"));
    const build = await bench.ensure("1.0", "pypi");
    const path = join(bench.enginesDir, "vllm/1.0-cpu/venv/bin/standin");
    expect(build).toEqual({ name: "vllm", version: "1.0", origin: "installed", path, devices: [] });
    expect(execFileSync(path, ["--version"], { encoding: "utf8" })).toBe("standin 1.0 with 3.1\n");
    expect(await bench.folder()).toEqual(["1.0-cpu", "downloads"]);
    expect(await bench.downloads()).toEqual([]);

    const asked = bench.requests();
    expect(await bench.ensure("1.0", "pypi")).toEqual(build);
    expect(bench.requests()).toEqual(asked);
  });

  test("what is done is said: the resolution, the bytes of all wheels together, the unpacking, the trial", async () => {
    bench.publish(standIn("1.0", { ballast: 100_000 }));
    await bench.ensure("1.0", "pypi");
    const said = [...new Set(bench.seen.map(({ what }) => what))];
    expect(said).toEqual([
      "standin 1.0: being resolved",
      "standin 1.0",
      "standin 1.0: being unpacked",
      "standin 1.0: being tried",
    ]);
    const last = bench.seen.findLast(({ what }) => what === "standin 1.0");
    expect(last?.bytesTotal).toBeGreaterThan(100_000);
    expect(last?.bytesDone).toBe(last?.bytesTotal);
  });

  test("everything that was resolved is written down with its hash", async () => {
    bench.publish(standIn("1.0"));
    await bench.ensure("1.0", "pypi");
    const list = await readFile(join(bench.enginesDir, "vllm/1.0-cpu/requirements.txt"), "utf8");
    expect(list).toMatch(/^small-helper==3\.1 --hash=sha256:[0-9a-f]{64}\nstandin==1\.0 --hash=sha256:[0-9a-f]{64}\n$/);
  });

  test("two versions live side by side, and the second leaves the first as it is", async () => {
    bench.publish(standIn("1.0"));
    bench.publish(standIn("1.10"));
    const provider = bench.provider();
    await bench.ensureWith(provider, "1.0", "pypi");
    expect(await bench.ensureWith(provider, "1.10", "pypi")).toMatchObject({ version: "1.10" });
    expect(await bench.ensureWith(provider, "1.0", "pypi")).toMatchObject({ version: "1.0" });
    const { builds } = await provider.found("vllm");
    expect(builds.map(({ version }) => version)).toEqual(["1.10", "1.0"]);
  });

  test("a login in the index's address is used, and is in nothing that is written or shown", async () => {
    bench.publish(standIn("1.0"));
    const index = await bench.withLogin("user:s3cr3t");
    const env = { ...bench.env, PIP_INDEX_URL: index.replace("://", "://user:s3cr3t@") };
    expect(await bench.ensure("1.0", "pypi", { env })).toMatchObject({ version: "1.0" });
    const grep = `grep -rl s3cr3t '${bench.enginesDir}' || true`;
    expect(execFileSync("sh", ["-c", grep], { encoding: "utf8" })).toBe("");
  });
});

describe("from elsewhere", SLOW, () => {
  test("a mirror's index", async () => {
    bench.publish(standIn("1.0"));
    const env = { ...bench.env, PIP_INDEX_URL: "http://127.0.0.1:9/simple" };
    expect(await bench.ensure("1.0", bench.mirror, { env })).toMatchObject({ version: "1.0", origin: "installed" });
  });

  test.each([
    { driver: "580.95.05", backend: "cu130" },
    { driver: "570.124.06", backend: "cu129" },
    { driver: undefined, backend: "cpu" },
  ])("a mirror with a folder for each backend: $backend for the driver $driver", async ({ driver, backend }) => {
    bench.publish(standIn("1.0"));
    const gpuDriver = () => Promise.resolve(driver === undefined ? undefined : { version: driver });
    await bench.ensure("1.0", bench.mirror.replace("/simple", "/{backend}/simple"), { gpuDriver });
    expect(bench.requests()[0]).toBe(`/${backend}/simple/standin/`);
  });

  test("a folder of wheels, without a network", async () => {
    const folder = await bench.wheelhouse([standIn("1.0"), { project: "small-helper", version: "3.1" }]);
    await bench.index?.close();
    expect(await bench.ensure("1.0", folder)).toMatchObject({ version: "1.0" });
    expect(await bench.folder()).toEqual(["1.0-cpu"]);
    expect(await bench.ensure("1.0", `file://${folder}`)).toMatchObject({ version: "1.0" });
  });

  test("a folder that lacks a package names it", async () => {
    const folder = await bench.wheelhouse([standIn("1.0")]);
    expect(await bench.ensure("1.0", folder)).toMatchObject({
      kind: "not-found",
      message: containing("small-helper was not found in the provided package locations"),
    });
  });

  test("a folder's SHA256SUMS is believed over its wheels, and both hashes are named", async () => {
    const packages = [standIn("1.0"), { project: "small-helper", version: "3.1" }];
    const folder = await bench.wheelhouse(packages);
    const sums = execFileSync("sh", ["-c", "sha256sum *.whl"], { cwd: folder, encoding: "utf8" });
    const wrong = "0".repeat(64);
    await writeFile(join(folder, "SHA256SUMS"), sums.replace(/^[0-9a-f]{64}(?= {2}standin)/m, wrong));
    const outcome = await bench.ensure("1.0", folder);
    expect(outcome).toMatchObject({ kind: "checksum", retry: false });
    expect("message" in outcome && outcome.message).toMatch(
      new RegExp(
        `standin-1.0-py3-none-any.whl does not have the right bytes: its sha256 is [0-9a-f]{64}, ${wrong} is right`,
      ),
    );
    await writeFile(join(folder, "SHA256SUMS"), sums);
    expect(await bench.ensure("1.0", folder)).toMatchObject({ version: "1.0" });
  });
});

describe("what can go wrong", SLOW, () => {
  const index = (): string => URL.parse(bench.mirror)?.host ?? "";

  test("no such version: the sentence names it", async () => {
    bench.publish(standIn("1.0"));
    expect(await bench.ensure("9.9", "pypi")).toMatchObject({
      kind: "not-found",
      message: containing(`standin 9.9 from ${index()}: No solution found`),
      retry: false,
    });
    expect(await bench.folder()).toEqual([]);
  });

  test("a wheel with the wrong bytes: both hashes are named, and nothing of it is left", async () => {
    const wrong = "a".repeat(64);
    bench.publish(standIn("1.0"));
    bench.projects["small-helper"] = [];
    bench.publish({ project: "small-helper", version: "3.1", ballast: 200_000 }, { sha256: wrong });
    const outcome = await bench.ensure("1.0", "pypi");
    expect(outcome).toMatchObject({ kind: "checksum", retry: false });
    expect("message" in outcome && outcome.message).toMatch(/small.helper.*[0-9a-f]{64}/s);
    expect("message" in outcome && outcome.message).toContain(wrong);
    expect(await bench.folder()).toEqual(["downloads"]);
  });

  test("no wheel for this machine: source is not built", async () => {
    bench.publish(standIn("1.0", { tag: "cp27-cp27mu-win32" }));
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({ kind: "no-build", message: containing("standin") });
  });

  test("no Python that fits", async () => {
    bench.publish(standIn("1.0", { requiresPython: ">=3.99" }));
    // Where GitHub can be reached uv looks there, and knows that there is none either.
    const outcome = await bench.ensure("1.0", "pypi", { env: { ...bench.env, HTTPS_PROXY: "http://127.0.0.1:9" } });
    expect(outcome).toMatchObject({ kind: "missing-tool", retry: false });
    expect("message" in outcome && outcome.message).toMatch(
      /Python >=3\.9,>=3\.99 is needed: .*install python3 of such a version with its headers/,
    );
  });

  test("an index that cannot be reached may be reached later", async () => {
    bench.publish(standIn("1.0"));
    await bench.index?.close();
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({
      kind: "unreachable",
      message: containing(`http://${index()}/simple/standin/ cannot be had`),
      retry: true,
    });
  });

  test("a package that cannot be loaded: what it said is the reason", async () => {
    bench.publish(standIn("1.0", { main: "raise SystemExit('libcudart.so.13: cannot open shared object file')" }));
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({
      kind: "does-not-run",
      message: containing("libcudart.so.13"),
      retry: false,
    });
    expect(await bench.downloads()).toEqual([]);
    expect(await bench.folder()).toEqual(["downloads"]);
  });

  test("a package without its program", async () => {
    bench.publish({ project: "standin", version: "1.0", requires: ["small-helper"] });
    expect(await bench.ensure("1.0", "pypi")).toMatchObject({
      kind: "bad-archive",
      message: "standin 1.0 brings no program standin",
    });
  });

  test("a disk that cannot hold it is asked before anything is fetched", async (context) => {
    bench.publish(standIn("1.0", { ballast: 4_000_000 }));
    await mkdir(join(bench.enginesDir, "vllm"), { recursive: true });
    try {
      execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=10m", "tmpfs", join(bench.enginesDir, "vllm")], {
        stdio: "ignore",
      });
    } catch {
      context.skip("a small disk can be mounted by root only");
    }
    try {
      expect(await bench.ensure("1.0", "pypi")).toMatchObject({
        kind: "no-space",
        message: containing("standin 1.0 needs about 13 MiB"),
        retry: false,
      });
      expect(bench.fetches()).toEqual([]);
    } finally {
      execFileSync("/bin/umount", [join(bench.enginesDir, "vllm")]);
    }
  });

  test("B71 a driver that does not say its version: no CUDA is guessed", async () => {
    bench.publish(standIn("1.0"));
    const gpuDriver = () => Promise.resolve({ version: "" });
    expect(await bench.ensure("1.0", "pypi", { gpuDriver })).toMatchObject({
      kind: "no-build",
      message: containing("the NVIDIA driver does not say its version: none is guessed"),
    });
    expect(bench.requests()).toEqual([]);
  });

  test("an engine for GPUs alone is not fetched for a node without a driver", async () => {
    const engineOf = (): Engine => ({ ...pythonEngine(), needsGpu: true });
    expect(await bench.ensure("1.0", "pypi", { engineOf })).toMatchObject({
      kind: "no-build",
      message: "standin runs on NVIDIA GPUs alone, and no driver of theirs is loaded on this node",
    });
    expect(bench.requests()).toEqual([]);
  });

  test("a CUDA that the driver is too old for, from a mirror that has no other", async () => {
    bench.publish(standIn("1.0", { requires: ["small-helper", "nvidia-cuda-runtime"] }));
    bench.publish({ project: "nvidia-cuda-runtime", version: "13.0.96" });
    const old = { gpuDriver: () => Promise.resolve({ version: "570.124.06" }) };
    expect(await bench.ensure("1.0", bench.mirror, old)).toMatchObject({
      kind: "no-build",
      message: `standin 1.0 from ${index()}: it is built for CUDA 13.0, which needs an NVIDIA driver 580 or newer, and this node has 570.124.06`,
    });
    const young = { gpuDriver: () => Promise.resolve({ version: "580.95.05" }) };
    expect(await bench.ensure("1.0", bench.mirror, young)).toMatchObject({
      path: join(bench.enginesDir, "vllm/1.0-cu130/venv/bin/standin"),
    });
  });

  test("the builds for an older driver come from the engine's own index for them", async () => {
    bench.publish(standIn("1.0", { requires: ["small-helper", "nvidia-cuda-runtime"] }));
    bench.publish({ project: "nvidia-cuda-runtime", version: "13.0.96" });
    const asked: string[] = [];
    const buildsFor = (version: string, backend: string): string => {
      asked.push(`${version} ${backend}`);
      return bench.mirror.replace("/simple", `/${backend}/simple`);
    };
    bench.projects[`cu129/standin`] = [];
    bench.publish({ ...standIn("1.0+cu129", { requires: ["small-helper"] }) }, {}, "cu129/standin");
    const outcome = await bench.ensure("1.0", "pypi", {
      gpuDriver: () => Promise.resolve({ version: "570.124.06" }),
      engineOf: () => pythonEngine({ buildsFor }),
    });
    expect(asked).toContain("1.0 cu129");
    expect(outcome).toMatchObject({ version: "1.0+cu129", origin: "installed" });
  });

  test("nothing is installed that nobody named, and the sentence says where to name it", async () => {
    const { signal } = new AbortController();
    const outcome = await bench.provider().ensure("vllm", undefined, { onProgress: () => undefined, signal });
    expect(outcome).toMatchObject({
      ok: false,
      error: { kind: "not-found", message: containing("server.yaml names no version of it under engines.vllm") },
    });
    expect(bench.requests()).toEqual([]);
  });
});

describe("what is here already", SLOW, () => {
  test("an engine that is started as a module is found by its script, and is the Python beside that", async () => {
    await bench.script("venv/bin/python", 'echo "standin 4.2"');
    await bench.script("venv/bin/standin", "exit 1");
    await mkdir(join(bench.base, "path"));
    await symlink(join(bench.base, "venv/bin/standin"), join(bench.base, "path/standin"));
    const engineOf = () => pythonEngine({ program: "python" });
    const { builds } = await bench.provider({ engineOf, pathDirs: [join(bench.base, "path")] }).found("vllm");
    expect(builds).toMatchObject([{ version: "4.2", origin: "path", path: join(bench.base, "venv/bin/python") }]);
  });

  test("one on PATH that takes its time to say its version is there later, and is asked once", async () => {
    const [asked, answer] = [join(bench.base, "asked"), join(bench.base, "answer")];
    execFileSync("mkfifo", [answer]);
    await bench.script("path/standin", `echo x >> ${asked}\ncat ${answer}`);
    const provider = bench.provider({ pathDirs: [join(bench.base, "path")] });
    const early = await Promise.all([provider.found("vllm"), provider.found("vllm")]);
    expect(early).toEqual(early.map(() => ({ builds: [], refusals: [] })));
    await writeFile(answer, "standin 7.0\n");
    await expect.poll(async () => (await provider.found("vllm")).builds).toMatchObject([{ version: "7.0" }]);
    expect(await readFile(asked, "utf8")).toBe("x\n");
  });

  test("an environment whose Python is gone says so", async () => {
    bench.publish(standIn("1.0"));
    const provider = bench.provider();
    const build = await bench.ensureWith(provider, "1.0", "pypi");
    const interpreter = join("path" in build ? build.path : "", "../python");
    await rm(interpreter);
    const { builds, refusals } = await provider.found("vllm");
    expect(builds).toEqual([]);
    expect(refusals.join()).toContain(`its Python is gone: ${interpreter} leads nowhere`);
    expect(await bench.ensureWith(provider, "1.0", "pypi")).toMatchObject({
      path: join(bench.enginesDir, "vllm/1.0-cpu.2/venv/bin/standin"),
    });
  });

  test("nothing in it is run to find out what it is: loading it all takes long", async () => {
    bench.publish(standIn("1.0"));
    const build = await bench.ensure("1.0", "pypi");
    const path = "path" in build ? build.path : "";
    await writeFile(path, "#!/bin/sh\nexit 3\n");
    await chmod(path, 0o755);
    expect((await bench.provider().found("vllm")).builds).toMatchObject([{ version: "1.0" }]);
  });
});
