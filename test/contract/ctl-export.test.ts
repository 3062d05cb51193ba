import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { typed } from "../fakes/typed.ts";
import { ownFolder, site } from "./callers.ts";
import { overSockets, type Site } from "./site.ts";

const ctl = (on: Site, words: readonly string[], stdin = "") =>
  typed(["ctl", ...words], { env: { LLMGW_SERVER: on.url ?? "", LLMGW_TOKEN: on.token }, stdin });

/** One of each kind, with every key that this version takes. */
const everything = (secret: string): string => `
kind: Profile
name: qwen3-32b
serves: [qwen3-32b, default]
model:
  source: hf:Qwen/Qwen3-32B@main
  files: ["*.safetensors", "*.json"]
  sha256: { "model.safetensors": "${"ab".repeat(32)}" }
engine: vllm
replicas: { min: 1, max: 4, target_in_flight: 8, idle: 10m }
resources: { gpus: 4, gpu_memory: 70GiB, memory: 16GiB, nodes: 1 }
parallel: { tensor: 4, pipeline: 1 }
node_selector: { rack: "012" }
context: 32768
args: ["--enable-prefix-caching", "--chat-template-kwargs", '{"enable_thinking": false}', "no", "1e3", "# x", ""]
env: { VLLM_LOGGING_LEVEL: INFO, ONE: "1", TEXT: "a: b\\nc" }
start_timeout: 30m
rollout: { surge: 2, unavailable: 1, drain: 90s }
---
kind: Profile
name: phi
model: { source: hf:m/phi }
---
kind: Upstream
name: elsewhere
url: https://api.example/v1
api_key: file:${secret}
models: [gpt-big]
---
kind: Alias
name: gpt-4
targets: [{ profile: qwen3-32b, weight: 3 }, { profile: phi }]
fallback: [elsewhere, phi]
`;

/** What a cluster is told to be, without what happens in it. */
async function wished({ admin }: Site): Promise<unknown> {
  const { profiles } = await admin.listProfiles({});
  const { models } = await admin.listModels({});
  return [
    profiles.map(({ name, specHash, manifest }) => ({ name, specHash, manifest })),
    models.map(({ name, profile }) => ({ name, profile })),
  ];
}

test("what is exported makes the same cluster of a fresh control plane: every kind, and what was ordered since", async () => {
  const folder = await ownFolder("export");
  const [file, secret] = [join(folder, "all.yaml"), join(folder, "key")];
  await writeFile(secret, "sk-elsewhere-0123456789\n", { mode: 0o600 });
  await writeFile(file, everything(secret));
  const [first, fresh] = [await site(overSockets), await site(overSockets)];
  expect(await ctl(first, ["apply", "-f", file])).toMatchObject({ code: 0, stderr: "" });
  expect((await ctl(first, ["scale", "phi", "3"])).code).toBe(0);
  const exported = await ctl(first, ["export"]);
  expect(exported).toMatchObject({ code: 0, stderr: "" });
  expect(exported.stdout).not.toContain("sk-elsewhere");
  // It is what runs there already.
  expect(await ctl(first, ["diff", "-f", "-"], exported.stdout)).toMatchObject({ code: 0, stdout: "" });
  expect(await ctl(fresh, ["apply", "-f", "-"], exported.stdout)).toMatchObject({ code: 0, stderr: "" });
  expect((await ctl(fresh, ["export"])).stdout).toBe(exported.stdout);
  expect(await wished(fresh)).toEqual(await wished(first));
  expect(exported.stdout).toMatch(/^replicas: 3$/m);
});
