import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { github, InstallBench, request, SAYS_VERSION } from "../../../test/fakes/install-bench.ts";
import { type Logger, silentLogger } from "../../platform/logger.ts";

const bench = new InstallBench();

describe("what is here already", () => {
  test("in order: PATH, the folder in opt, what was installed; each refusal with its reason", async () => {
    await bench.publish("b11");
    await bench.ensure(github("b11"));
    await bench.program("bin", "echo broken >&2; exit 3");
    await bench.program("opt/build/bin", SAYS_VERSION);
    const engines = bench.provider({ pathDirs: [join(bench.base, "none"), join(bench.base, "bin")] });
    const { builds, refusals } = await engines.found("llama.cpp");
    expect(builds.map(({ origin, version }) => [origin, version])).toEqual([
      ["opt", "b77"],
      ["installed", "b11"],
    ]);
    expect(refusals).toEqual([`${join(bench.base, "bin/llama-server")}: exit code 3: broken`]);
    expect(await engines.ensure("llama.cpp", undefined, request())).toMatchObject({
      ok: true,
      value: { origin: "opt" },
    });
    expect(await engines.ensure("llama.cpp", github("b11"), request())).toMatchObject({
      ok: true,
      value: { version: "b11" },
    });
  });

  test("neither an empty entry of PATH nor an empty folder means the current one", async () => {
    const { builds, refusals } = await bench.provider({ pathDirs: ["", "."], optDir: "" }).found("llama.cpp");
    expect([builds, refusals]).toEqual([[], []]);
  });

  test("a configured binary is the only one, whatever the control plane names", async () => {
    const path = await bench.program("mine", SAYS_VERSION);
    const configured = { "llama.cpp": path };
    expect(await bench.ensure(github("b11"), { configured })).toMatchObject({
      origin: "configured",
      version: "b77",
      path,
    });
    const broken = { "llama.cpp": join(bench.base, "mine/none") };
    expect(await bench.ensure(github("b11"), { configured: broken })).toMatchObject({
      kind: "does-not-run",
      message: `the configured llama.cpp cannot be used: ${join(bench.base, "mine/none")}: there is no such file`,
    });
    expect(bench.server.apiRequests).toEqual([]);
  });

  test("an engine that nobody named a version of is not installed by itself", async () => {
    const engines = bench.provider();
    expect(await engines.ensure("vllm", undefined, request())).toMatchObject({
      ok: false,
      error: { kind: "not-found", message: expect.stringContaining("engines.vllm") as unknown },
    });
    expect(await engines.found("vllm")).toEqual({ builds: [], refusals: [] });
  });

  test("what an installation runs into is not held against the node while it goes on trying, and is said once", async () => {
    bench.server.interceptApi = (_request, response) => {
      response.writeHead(429, { "retry-after": "60" }).end();
      return true;
    };
    const said: string[] = [];
    const meanwhile: Promise<readonly string[]>[] = [];
    const warn = ({ reason }: { readonly reason: string }): void => {
      said.push(reason);
      meanwhile.push(engines.found("llama.cpp").then(({ refusals }) => refusals));
    };
    const engines = bench.provider({ logger: { ...silentLogger, warn } as unknown as Logger });
    await engines.ensure("llama.cpp", github("b1"), request());
    await engines.ensure("llama.cpp", github("b1"), request());
    expect(said).toEqual([expect.stringMatching(/^no build from GitHub, so Debian's is taken: /)]);
    expect(await Promise.all(meanwhile)).toEqual([[]]);
    expect((await engines.found("llama.cpp")).refusals.join()).toContain("GitHub: ");
  });

  test("a failed installation is on the node until one succeeds", async () => {
    await bench.publish("b1", { script: "exit 3" });
    const engines = bench.provider();
    await engines.ensure("llama.cpp", github("b1"), request());
    expect((await engines.found("llama.cpp")).refusals.join()).toContain("exit code 3");
    await bench.publish("b2");
    await engines.ensure("llama.cpp", github("b2"), request());
    expect((await engines.found("llama.cpp")).refusals).toEqual([]);
  });
});

describe("from a mirror", () => {
  test("with the names and SHA256SUMS at its address", async () => {
    await bench.publish("b11");
    expect(await bench.ensure({ version: "b11", source: bench.server.mirror })).toMatchObject({
      version: "b11",
      origin: "installed",
    });
    expect(bench.server.apiRequests).toEqual([]);
  });

  test("that does not have it: nothing stands in", async () => {
    await bench.publish("b11");
    expect(await bench.ensure({ version: "b12", source: bench.server.mirror })).toMatchObject({
      kind: "not-found",
      message: `the mirror ${bench.server.mirror} lists no build of b12 in a file SHA256SUMS`,
    });
  });
});
