import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Profile } from "../core/profile.ts";
import { type ManifestObject, parseManifest, parseManifests } from "./manifest.ts";
import { renderProblems } from "./problem.ts";
import { profileManifest } from "./profile.ts";
import { unsupported } from "./unsupported.ts";

function objects(text: string): readonly ManifestObject[] {
  const parsed = parseManifest(text, "m.yaml");
  if (!parsed.ok) throw new Error(renderProblems(parsed.error));
  return parsed.value;
}

function profileOf(text: string): Profile {
  const [first] = objects(text);
  if (first?.kind !== "Profile") throw new Error("no profile");
  return first.profile;
}

function problems(text: string): string {
  const parsed = parseManifest(text, "m.yaml");
  return parsed.ok ? "no problems" : renderProblems(parsed.error);
}

const LEAST = "kind: Profile\nname: tiny\nmodel: {source: 'tiny:'}\n";
const SHA = "a".repeat(64);

const EVERYTHING = `
kind: Profile
name: qwen3-32b
serves: [qwen3-32b, default, Qwen/Qwen3-32B]
model:
  source: hf:Qwen/Qwen3-32B@main
  files: ["*.safetensors", "*.json"]
  sha256: { "model.gguf": "${SHA.toUpperCase()}" }
engine: vllm
replicas: { min: 0, max: 4, target_in_flight: 16, idle: 5m }
resources: { gpus: 4, gpu_memory: 70GiB, memory: 16GB, nodes: 2 }
parallel: { tensor: 4, pipeline: 2 }
node_selector: { rack: r12 }
context: 32768
adapters: { support-bot: "hf:acme/support-lora" }
args: ["--enable-prefix-caching", "--x={\\"a\\": 1}"]
env: { VLLM_LOGGING_LEVEL: INFO, EMPTY: "" }
start_timeout: 1h
rollout: { surge: 0, unavailable: 1, drain: 0s }
`;

describe("profiles", () => {
  test("what is left out is filled in", () => {
    expect(profileOf(LEAST)).toEqual({
      name: "tiny",
      serves: ["tiny"],
      model: { source: "tiny:", files: [], sha256: {} },
      engine: "auto",
      replicas: { kind: "fixed", count: 1 },
      resources: { nodes: 1 },
      parallel: { tensor: 1, pipeline: 1 },
      nodeSelector: {},
      adapters: {},
      args: [],
      env: {},
      startTimeout: 1_800_000,
      rollout: { surge: 1, unavailable: 0, drain: 300_000 },
    });
  });

  test("every key is taken", () => {
    expect(profileOf(EVERYTHING)).toEqual({
      name: "qwen3-32b",
      serves: ["qwen3-32b", "default", "Qwen/Qwen3-32B"],
      model: { source: "hf:Qwen/Qwen3-32B@main", files: ["*.safetensors", "*.json"], sha256: { "model.gguf": SHA } },
      engine: "vllm",
      replicas: { kind: "range", min: 0, max: 4, targetInFlight: 16, idle: 300_000 },
      resources: { gpus: 4, gpuMemory: 70 * 2 ** 30, memory: 16e9, nodes: 2 },
      parallel: { tensor: 4, pipeline: 2 },
      nodeSelector: { rack: "r12" },
      context: 32_768,
      adapters: { "support-bot": "hf:acme/support-lora" },
      args: ["--enable-prefix-caching", '--x={"a": 1}'],
      env: { VLLM_LOGGING_LEVEL: "INFO", EMPTY: "" },
      startTimeout: 3_600_000,
      rollout: { surge: 0, unavailable: 1, drain: 0 },
    });
  });

  test("B37 each argument is one argument, spaces and all", () => {
    const args = [
      "--compilation-config",
      '{"cudagraph_mode": "FULL_DECODE_ONLY"}',
      "--speculative-config",
      '{"num_speculative_tokens": 3,"method": "mtp"}',
      "",
      "two\nlines",
      "${HOME} $(date) *",
    ];
    expect(profileOf(`${LEAST}args: ${JSON.stringify(args)}\n`).args).toEqual(args);
  });

  test.each([
    ["{gpus: 4}", "{}", { gpus: 4, nodes: 1 }, { tensor: 4, pipeline: 1 }],
    ["{gpus: 4, nodes: 2}", "{}", { gpus: 4, nodes: 2 }, { tensor: 8, pipeline: 1 }],
    ["{gpus: 4, nodes: 2}", "{pipeline: 2}", { gpus: 4, nodes: 2 }, { tensor: 4, pipeline: 2 }],
    ["{gpus: 0}", "{}", { gpus: 0, nodes: 1 }, { tensor: 1, pipeline: 1 }],
    ["{}", "{tensor: 4}", { gpus: 4, nodes: 1 }, { tensor: 4, pipeline: 1 }],
    ["{nodes: 2}", "{tensor: 4, pipeline: 2}", { gpus: 4, nodes: 2 }, { tensor: 4, pipeline: 2 }],
    ["{}", "{tensor: 1}", { nodes: 1 }, { tensor: 1, pipeline: 1 }],
  ])("resources %s with parallel %s", (resources, parallel, wantResources, wantParallel) => {
    const profile = profileOf(`${LEAST}resources: ${resources}\nparallel: ${parallel}\n`);
    expect(profile.resources).toEqual(wantResources);
    expect(profile.parallel).toEqual(wantParallel);
  });
});

describe("several documents", () => {
  const ALIAS = "kind: Alias\nname: chat\ntargets: [{profile: tiny, weight: 3}, {profile: other}]\nfallback: [spare]\n";
  const UPSTREAM = "kind: Upstream\nname: cloud\nurl: https://api.example/v1/\napi_key: file:/run/key\nmodels: [big]\n";

  test("of every kind", () => {
    expect(objects(`${LEAST}---\n${ALIAS}---\n# nothing here\n---\n${UPSTREAM}`).slice(1)).toEqual([
      {
        kind: "Alias",
        alias: {
          name: "chat",
          targets: [
            { profile: "tiny", weight: 3 },
            { profile: "other", weight: 1 },
          ],
          fallback: ["spare"],
        },
      },
      {
        kind: "Upstream",
        upstream: {
          ...{ name: "cloud", url: "https://api.example/v1", keyFile: "/run/key" },
          models: [{ name: "big", remote: "big" }],
        },
      },
    ]);
  });

  test("every document's problems at once", () => {
    expect(
      problems(`kind: Profile\nname: A\n---\nkind: Profil\n---\nname: x\n---\n- 1\n---\n${LEAST}replica: 2\n`).split(
        "\n",
      ),
    ).toEqual([
      expect.stringContaining("m.yaml:1: model is missing"),
      expect.stringContaining("m.yaml:2: name must be at most 63 small letters"),
      expect.stringContaining(
        'm.yaml:4: kind must be Profile, Alias, Upstream, but is "Profil"; did you mean Profile?',
      ),
      expect.stringContaining("m.yaml:6: kind is missing; a document begins with kind: Profile or Alias or Upstream"),
      expect.stringContaining("m.yaml:8: a document must be a map of keys"),
      expect.stringContaining("m.yaml:13: replica is not a known key; did you mean replicas?"),
    ]);
  });

  test.each([
    [
      "two profiles that serve one name",
      `${LEAST}---\nkind: Profile\nname: b\nserves: [b, tiny]\nmodel: {source: 'tiny:'}\n`,
      "m.yaml:7: the model name tiny is already taken by Profile tiny",
    ],
    ["a profile twice", `${LEAST}---\n${LEAST}`, "m.yaml:6: Profile tiny is there twice in this file"],
    [
      "an adapter with a name that is served",
      `${LEAST}---\nkind: Profile\nname: b\nmodel: {source: 'tiny:'}\nadapters: {x: 'hf:a/x', tiny: 'hf:a/b'}\n`,
      "m.yaml:8: the model name tiny is already taken by Profile tiny",
    ],
    [
      "an alias of a served name",
      `${LEAST}---\nkind: Alias\nname: tiny\ntargets: [{profile: tiny}]\n`,
      "m.yaml:6: the model name tiny is already taken by Profile tiny",
    ],
    ["nothing at all", "", "m.yaml:1: the file holds no document; a document begins with kind: Profile"],
  ])("%s is refused", (_, text, want) => {
    expect(problems(text)).toBe(want.includes(";") ? problems(text) : want);
    expect(problems(text)).toContain(want);
  });
});

describe("what is refused in a profile", () => {
  test.each([
    ["serves: []", "serves must not be an empty list"],
    ["serves: [a, b, a]", "serves holds a twice"],
    ["serves: ['a b']", "serves[0] must be a model name"],
    [
      "engine: llamacpp",
      'engine must be one of auto, llama.cpp, vllm, sglang, but is "llamacpp"; did you mean llama.cpp?',
    ],
    ["replicas: -1", "replicas must be a whole number from 0 to 10000, but is -1"],
    ["replicas: [1]", "replicas must be a whole number from 0 to 10000, or a map of keys, but is a list"],
    ["replicas: {min: 3, max: 2}", "replicas.min (3) is more than replicas.max (2)"],
    ["replicas: {min: 3}", "replicas.max is missing"],
    [
      "resources: {gpus: 4}\nparallel: {tensor: 3}",
      "tensor × pipeline (3 × 1 = 3) must equal gpus × nodes (4 × 1 = 4)",
    ],
    ["resources: {gpus: 3}\nparallel: {pipeline: 2}", "must equal gpus × nodes (3 × 1 = 3)"],
    ["resources: {nodes: 2}\nparallel: {tensor: 3}", "must equal gpus × nodes"],
    [
      "resources: {nodes: 2, gpus: 4}\nparallel: {tensor: 4}",
      "tensor × pipeline (4 × 1 = 4) must equal gpus × nodes (4 × 2 = 8)",
    ],
    ["resources: {nodes: 2}", "a replica over 2 nodes needs GPUs on each of them"],
    ["resources: {nodes: 2, gpus: 0}", "a replica over 2 nodes needs GPUs on each of them"],
    ["resources: {gpu_memory: 80}", "did you mean 80GiB or 80B?"],
    ["resources: {memory: 0B}", "resources.memory must be more than nothing"],
    ["env: {2FAST: x}", 'the key "2FAST" in env must be the name of an environment variable'],
    ["env: {A: 1}", "env.A must be a text, but is 1; put it in quotes"],
    ["args: --flag value", "args must be a list, but is"],
    ["args: [--n, 5]", "args[1] must be a text, but is 5; put it in quotes"],
    ['args: ["a\\0b"]', "args[0] must not hold a zero character"],
    ["rollout: {surge: 0}", "rollout.surge and rollout.unavailable are both 0"],
    ["adapters: {a: /x}", "adapters.a cannot be used:"],
    ["adapters: {tiny: 'hf:a/b'}", "the adapter tiny has a name that the profile's model is served under"],
    ["serves: [a, b]\nadapters: {b: 'hf:a/b'}", "the adapter b has a name that the profile's model is served under"],
    ["start_timeout: 5 minutes", "did you mean 5m?"],
    ["context: 0", "context must be a whole number"],
  ])("%s", (lines, want) => {
    expect(problems(`${LEAST}${lines}\n`)).toContain(want);
  });

  test.each([
    ["{source: Qwen/Qwen3-32B}", "model.source cannot be used:"],
    ["{source: 'tiny:', sha256: {a: b}}", 'model.sha256.a must be 64 hexadecimal digits, but is "b"'],
    ["{source: 'tiny:', files: ['../x']}", "model.files[0] must be a file name"],
    ["{source: 'tiny:', sha256: {/etc/passwd: x}}", 'the key "/etc/passwd" in model.sha256'],
    ["{}", "model.source is missing"],
  ])("model: %s", (model, want) => {
    expect(problems(`kind: Profile\nname: a\nmodel: ${model}\n`)).toContain(want);
  });

  test.each([
    ["targets: []", "targets must not be an empty list"],
    ["targets: [{profile: a, weight: 0}]", "every target has the weight 0"],
    ["targets: [{profile: a}, {profile: a}]", "targets holds a twice"],
    ["targets: [{profile: a}]\nfallback: [b, b]", "fallback holds b twice"],
  ])("alias %s", (lines, want) => {
    expect(problems(`kind: Alias\nname: a\n${lines}\n`)).toContain(want);
  });
});

describe("what this version does not carry out", () => {
  test.each([
    ["", []],
    ["replicas: {max: 2}", []],
    ["resources: {nodes: 2, gpus: 1}\nengine: llama.cpp", ["llama.cpp runs a replica on one node only"]],
    ["engine: vllm", []],
    ["engine: sglang", []],
    ["engine: llama.cpp", []],
    ["adapters: {a: 'hf:a/b'}", []],
  ])("%s", (lines, want) => {
    const [object] = objects(`${LEAST}${lines}\n`);
    if (object === undefined) throw new Error("no object");
    expect(unsupported(object)).toEqual(want.map((part) => expect.stringContaining(part) as unknown));
  });

  test("other kinds", () => {
    const all = objects(
      "kind: Alias\nname: a\ntargets: [{profile: b}]\n---\nkind: Upstream\nname: u\nurl: http://x\nmodels: [m]\n",
    );
    expect(all.map((object) => unsupported(object))).toEqual([[], []]);
  });
});

describe("a profile is written as a manifest that is read back to it", () => {
  test.each([LEAST, EVERYTHING])("%s", (text) => {
    expect(profileOf(profileManifest(profileOf(text)))).toEqual(profileOf(text));
  });

  const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
  const words = fc.dictionary(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/), fc.string());
  const plain = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[ -~]{0,12}$/));
  const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(arbitrary, { nil: undefined });
  const written = fc.record({
    kind: fc.constant("Profile"),
    name,
    serves: optional(fc.uniqueArray(name, { minLength: 1, maxLength: 4 })),
    model: fc.record({ source: fc.constantFrom("tiny:", "hf:a/b@c", "file:/x y", "pypi:a/b c.gguf") }),
    replicas: fc.oneof(
      fc.nat({ max: 100 }),
      fc.record({ min: fc.nat({ max: 5 }), max: fc.integer({ min: 5, max: 9 }) }),
    ),
    resources: fc.record({
      gpus: optional(fc.nat({ max: 8 })),
      nodes: fc.integer({ min: 1, max: 4 }),
      memory: optional(fc.integer({ min: 1 }).map((n) => `${String(n)}KiB`)),
    }),
    node_selector: plain,
    context: optional(fc.integer({ min: 1, max: 1_000_000 })),
    args: fc.array(fc.string()),
    env: words,
    start_timeout: fc.integer({ min: 1, max: 10 ** 9 }).map((n) => `${String(n)}ms`),
  });

  test("whatever is in it", () => {
    fc.assert(
      fc.property(written, (document) => {
        const parsed = parseManifest(JSON.stringify(document), "m.json");
        fc.pre(parsed.ok);
        const profile = profileOf(JSON.stringify(document));
        expect(profileOf(profileManifest(profile))).toEqual(profile);
      }),
    );
  });
});

describe("several files are one manifest", () => {
  const told = (...texts: readonly string[]): string => {
    const parsed = parseManifests(texts.map((text, at) => ({ text, fileName: `${"abc"[at] ?? ""}.yaml` })));
    return parsed.ok ? parsed.value.map(({ kind }) => kind).join(" ") : renderProblems(parsed.error);
  };

  test.each([
    ["all right", [LEAST, LEAST.replace("tiny\n", "other\n")], "Profile Profile"],
    ["a profile in two of them", [LEAST, `# again\n${LEAST}`], "b.yaml:3: Profile tiny is in a.yaml too"],
    [
      "a model name in two of them",
      [LEAST, "kind: Profile\nname: other\nserves: [other, tiny]\nmodel: {source: 'tiny:'}\n"],
      "b.yaml:3: the model name tiny is already taken by Profile tiny of a.yaml",
    ],
    [
      "each with its own faults, file by file",
      ["kind: Profile\nname: a\nmodle: 1\n", LEAST, "kind: Profil\n"],
      /^a\.yaml:1: .*\na\.yaml:3: .*modle.*\nc\.yaml:1: .*did you mean Profile\?$/,
    ],
    ["an empty one", [LEAST, "# nothing\n"], /^b\.yaml:1: the file holds no document/],
  ])("%s", (_, texts, want) => {
    if (typeof want === "string") expect(told(...texts)).toBe(want);
    else expect(told(...texts)).toMatch(want);
  });
});
