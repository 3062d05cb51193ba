import { describe, expect, test } from "vitest";
import { sglang } from "../sglang/index.ts";
import { vllm } from "../vllm/index.ts";
import { launchCases, rayCases } from "./cases.ts";
import { commandText } from "./text.ts";

const VLLM = { binary: "/opt/venvs/vllm/bin/vllm", version: "0.33.0" };
const SGLANG = { binary: "/opt/venvs/sglang/bin/python", version: "0.5.23" };

/** Every engine for safetensors in every situation: what it is started with, whole. */
const ENGINES = [
  { engine: vllm, cases: [...launchCases(VLLM), ...rayCases(VLLM)] },
  { engine: sglang, cases: launchCases(SGLANG) },
];

describe.each(ENGINES)("$engine.name", ({ engine, cases }) => {
  test.each(cases)("$name", async ({ name, launch }) => {
    const text = commandText(engine.command(launch));
    await expect(text).toMatchFileSnapshot(`./${engine.name}/${name}.txt`);
  });

  test.each(cases)("$name: the key is in no argument", ({ launch }) => {
    expect(engine.command(launch).argv.join(" ")).not.toContain("sk-replica");
  });

  test.each(cases)("$name: the profile's own arguments come last, each as it is", ({ launch }) => {
    const own = ["--served-model-name", "mine", "--x", '{"a b": "c, d"}'];
    const { argv } = engine.command({ ...launch, args: [...launch.args, ...own] });
    // Ray's workers take no part in how the engine is started.
    if (argv.includes("serve") || argv.includes("-m")) expect(argv.slice(-own.length)).toEqual(own);
  });

  test.each(cases)(
    "B32 B41 $name: no port of the engine's own is set, and nothing of this process's environment",
    ({ launch }) => {
      const { env } = engine.command(launch);
      expect(Object.keys(env).filter((name) => /^VLLM_PORT$|proxy|^LLMGW/i.test(name))).toEqual([]);
    },
  );

  test.each(cases.filter(({ launch }) => launch.gang !== undefined))(
    "B16 B17 $name: interfaces and adapters are whole names, of this node",
    ({ launch }) => {
      const { env } = engine.command(launch);
      expect(env["NCCL_SOCKET_IFNAME"] ?? "=").toMatch(/^=|,lo$/);
      expect(env["GLOO_SOCKET_IFNAME"] ?? "").not.toMatch(/[=^]/);
      expect(env["NCCL_IB_HCA"]).toBe(launch.gang?.hcas);
      expect(env["NCCL_IB_DISABLE"]).toBe(launch.gang?.hcas === undefined ? "1" : undefined);
    },
  );
});
