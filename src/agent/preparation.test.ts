import { describe, expect, test } from "vitest";
import type { DesiredReplica } from "../core/desired.ts";
import { bytes, millis, profileName, replicaId } from "../core/ids.ts";
import { err, ok } from "../core/result.ts";
import { failed } from "./install/failure.ts";
import type { EngineProvider } from "./install/provider.ts";
import { createPrepare } from "./preparation.ts";
import type { WeightStore } from "./weights/store.ts";

const replica: DesiredReplica = {
  id: replicaId("chat-1"),
  profile: profileName("chat"),
  specHash: "h1",
  serves: ["chat"],
  engine: "auto",
  model: { source: "hf:a/b", files: [], sha256: {} },
  context: undefined,
  args: [],
  env: {},
  gpus: [],
  apiKey: "k",
  startTimeout: millis(1000),
  generation: 1,
};
const request = { onProgress: () => undefined, signal: new AbortController().signal };
const build = { name: "llama.cpp", version: "b1", origin: "installed", path: "/e/llama-server", devices: [] } as const;

const noBuild = err(failed("no-build", "no build for this machine"));

interface Bench {
  readonly asked: string[];
  readonly provider: Pick<EngineProvider, "ensure">;
  readonly weights: Pick<WeightStore, "ensure">;
}

/** Both sides succeed, and remember in which order and for what they were asked. */
function bench(offered: readonly string[] = ["m.gguf", "mmproj-m.gguf", "README.md"]): Bench {
  const asked: string[] = [];
  return {
    asked,
    provider: {
      ensure: (engine, source) => {
        asked.push(`engine ${engine} ${source?.version ?? "any"}`);
        return Promise.resolve(ok(build));
      },
    },
    weights: {
      ensure: (model, { choose }) => {
        asked.push(`weights ${model.source}`);
        const choice = choose(offered.map((name) => ({ name, bytes: 1 })));
        if (!choice.ok) return Promise.resolve(err({ kind: "choice", message: choice.error, retry: false }));
        const files = choice.value.files.map((name) => `/w/${name}`);
        return Promise.resolve(ok({ mainPath: `/w/${choice.value.main}`, folder: "/w", bytes: bytes(1), files }));
      },
    },
  };
}

const sourceOf = () => ({ version: "1", source: "github" });

describe("preparing", () => {
  test("gets the engine that is named, then the files that it chooses", async () => {
    const { asked, ...suppliers } = bench();
    const prepare = createPrepare({ ...suppliers, sourceOf });
    expect(await prepare({ ...replica, engine: "llama.cpp" }, request)).toMatchObject({
      ok: true,
      value: { engine: { name: "llama.cpp" }, build, modelPath: "/w/m.gguf", files: ["/w/mmproj-m.gguf"] },
    });
    expect(asked).toEqual(["engine llama.cpp 1", "weights hf:a/b"]);
  });

  test("does not fetch weights for a named engine that cannot be had", async () => {
    const { asked, weights } = bench();
    const prepare = createPrepare({ provider: { ensure: () => Promise.resolve(noBuild) }, weights, sourceOf });
    expect(await prepare({ ...replica, engine: "llama.cpp" }, request)).toEqual(
      err({ reason: "no build for this machine", retry: false }),
    );
    expect(asked).toEqual([]);
  });

  test.each([
    { name: "GGUF", offered: ["m.gguf"], engine: "llama.cpp", modelPath: "/w/m.gguf" },
    { name: "safetensors", offered: ["config.json", "model.safetensors"], engine: "vllm", modelPath: "/w/" },
  ])("auto: $name says which engine", async ({ offered, engine, modelPath }) => {
    const { asked, ...suppliers } = bench(offered);
    const prepare = createPrepare({ ...suppliers, sourceOf });
    expect(await prepare(replica, request)).toMatchObject({ ok: true, value: { engine: { name: engine }, modelPath } });
    expect(asked).toEqual(["weights hf:a/b", `engine ${engine} 1`]);
  });

  test("auto: the next engine for the same files, where the node cannot have the first", async () => {
    const { asked, weights, provider } = bench(["config.json", "model.safetensors"]);
    const ensure: typeof provider.ensure = async (name, ...rest) =>
      name === "vllm" ? noBuild : await provider.ensure(name, ...rest);
    const prepare = createPrepare({ provider: { ensure }, weights, sourceOf });
    expect(await prepare(replica, request)).toMatchObject({ ok: true, value: { engine: { name: "sglang" } } });
    expect(asked).toContain("engine sglang 1");
  });

  test("auto: weights are not fetched to the end for an engine that cannot be had", async () => {
    const { weights: chosen } = bench();
    const weights: Bench["weights"] = {
      ensure: async (model, options) => {
        await chosen.ensure(model, options);
        await new Promise((resolve) => {
          options.signal.addEventListener("abort", resolve, { once: true });
        });
        return err({ kind: "aborted", message: "stopped", retry: true });
      },
    };
    const prepare = createPrepare({ provider: { ensure: () => Promise.resolve(noBuild) }, weights, sourceOf });
    expect(await prepare(replica, request)).toEqual(err({ reason: "no build for this machine", retry: false }));
  });

  test("auto: an engine is not installed any further when the weights cannot be had", async () => {
    const { weights: chosen } = bench();
    const weights: Bench["weights"] = {
      ensure: async (model, options) => {
        await chosen.ensure(model, options);
        return err({ kind: "failed", message: "no such repository", retry: false });
      },
    };
    const stopped = Promise.withResolvers<undefined>();
    const ensure: EngineProvider["ensure"] = async (_, __, { signal }) => {
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve, { once: true });
      });
      stopped.resolve(undefined);
      return noBuild;
    };
    const prepare = createPrepare({ provider: { ensure }, weights, sourceOf });
    expect(await prepare(replica, request)).toEqual(err({ reason: "no such repository", retry: false }));
    await stopped.promise;
  });

  test("auto: what goes wrong in an installation is a reason", async () => {
    const { weights } = bench();
    const prepare = createPrepare({ provider: { ensure: () => Promise.reject(new Error("odd")) }, weights, sourceOf });
    expect(await prepare(replica, request)).toEqual(err({ reason: "odd", retry: true }));
  });

  test("an engine that nothing here runs fails with its name", async () => {
    const { provider, weights } = bench();
    const prepare = createPrepare({ provider, weights, sourceOf: () => undefined });
    const prepared = await prepare({ ...replica, engine: "triton" }, request);
    expect(prepared).toMatchObject({ ok: false, error: { retry: false } });
    expect(!prepared.ok && prepared.error.reason).toContain("triton");
  });

  test("a model that no engine can use fails for good", async () => {
    const { asked, ...suppliers } = bench(["model.onnx"]);
    const prepare = createPrepare({ ...suppliers, sourceOf: () => undefined });
    expect(await prepare(replica, request)).toMatchObject({ ok: false, error: { retry: false } });
    expect(asked).toEqual(["weights hf:a/b"]);
  });

  const chosen = { ...replica, engine: "llama.cpp", adapters: [{ name: "kind", source: "hf:a/kind" }] };

  test("gets the adapters after the model, as the engine loads them", async () => {
    const { asked, ...suppliers } = bench(["m.gguf"]);
    const prepare = createPrepare({ ...suppliers, sourceOf });
    expect(await prepare(chosen, request)).toMatchObject({
      ok: true,
      value: { modelPath: "/w/m.gguf", adapters: [{ name: "kind", path: "/w/m.gguf" }] },
    });
    expect(asked).toEqual(["engine llama.cpp 1", "weights hf:a/b", "weights hf:a/kind"]);
  });

  test("an adapter that cannot be had is named with the reason", async () => {
    const { provider, weights: model } = bench(["m.gguf"]);
    const weights: Bench["weights"] = {
      ensure: async (spec, options) =>
        spec.source === "hf:a/b"
          ? await model.ensure(spec, options)
          : err({ kind: "no-space", message: "hf:a/kind: the disk is full", retry: true }),
    };
    const prepare = createPrepare({ provider, weights, sourceOf });
    const reason = "the adapter kind: hf:a/kind: the disk is full";
    expect(await prepare(chosen, request)).toEqual(err({ reason, retry: true }));
  });
});
