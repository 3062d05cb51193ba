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

describe("preparing", () => {
  test("gets the engine, then the files that it chooses", async () => {
    const { asked, ...suppliers } = bench();
    const prepare = createPrepare({ ...suppliers, sourceOf: () => ({ version: "b1", source: "github" }) });
    expect(await prepare(replica, request)).toMatchObject({
      ok: true,
      value: { engine: { name: "llama.cpp" }, build, modelPath: "/w/m.gguf", files: ["/w/mmproj-m.gguf"] },
    });
    expect(asked).toEqual(["engine llama.cpp b1", "weights hf:a/b"]);
  });

  test("does not fetch weights for an engine that cannot be had", async () => {
    const { asked, weights } = bench();
    const provider = { ensure: () => Promise.resolve(err(failed("no-build", "no build for this machine"))) };
    const prepare = createPrepare({ provider, weights, sourceOf: () => undefined });
    expect(await prepare(replica, request)).toEqual(err({ reason: "no build for this machine", retry: false }));
    expect(asked).toEqual([]);
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
    expect(asked).toEqual(["engine llama.cpp any", "weights hf:a/b"]);
  });
});
