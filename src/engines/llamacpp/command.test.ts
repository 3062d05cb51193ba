import { describe, expect, test } from "vitest";
import { gpuUuid } from "../../core/ids.ts";
import type { Launch } from "../engine.ts";
import { command } from "./command.ts";

const base: Launch = {
  binary: "/opt/llmgw/engines/llama.cpp/b11669/llama-server",
  modelPath: "/w/model.gguf",
  serves: ["tiny"],
  context: undefined,
  host: "10.0.0.11",
  port: 41_000,
  gpus: [],
  apiKey: "sk-replica",
  args: [],
  env: {},
  workDir: "/var/lib/llmgw-agent/replicas/r1",
};
const launch = (change: Partial<Launch>): Launch => ({ ...base, ...change });

/** The arguments after the program, one line for each flag with its value. */
const lines = (change: Partial<Launch>): readonly string[] =>
  command(launch(change))
    .argv.slice(1)
    .join(" ")
    .split(/ (?=-)/);

describe("argv", () => {
  test("on the CPU", () => {
    expect(command(base).argv[0]).toBe(base.binary);
    expect(lines({})).toEqual([
      "--model /w/model.gguf",
      "--alias tiny",
      "--host 10.0.0.11",
      "--port 41000",
      "--device none",
      "--cache-ram 1024",
      "--metrics",
      "--slots",
      "--no-ui",
      "--offline",
    ]);
  });

  test.each<{ name: string; change: Partial<Launch>; has: readonly string[] }>([
    { name: "every served name", change: { serves: ["a", "b"] }, has: ["--alias a,b"] },
    { name: "a context that was asked for", change: { context: 32_768 }, has: ["--ctx-size 32768"] },
    { name: "one GPU", change: { gpus: [gpuUuid("GPU-b")] }, has: ["--device CUDA0", "--gpu-layers all"] },
    {
      name: "two GPUs are numbered among those the process sees",
      change: { gpus: [gpuUuid("GPU-c"), gpuUuid("GPU-b")] },
      has: ["--device CUDA0,CUDA1", "--gpu-layers all"],
    },
    {
      name: "a projector among the chosen files",
      change: { files: ["/w/model.gguf", "/w/mmproj-F16.gguf"] },
      has: ["--mmproj /w/mmproj-F16.gguf"],
    },
    {
      name: "TLS",
      change: { tls: { certFile: "/r/tls/engine.pem", keyFile: "/r/tls/engine-key.pem" } },
      has: ["--ssl-cert-file /r/tls/engine.pem", "--ssl-key-file /r/tls/engine-key.pem"],
    },
    {
      name: "adapters, of which requests choose",
      change: {
        adapters: [
          { name: "support", path: "/w/support.gguf" },
          { name: "sales", path: "/w/sales.gguf" },
        ],
      },
      has: ["--lora-scaled /w/support.gguf:0,/w/sales.gguf:0", "--lora-init-without-apply"],
    },
  ])("$name", ({ change, has }) => {
    expect(lines(change)).toEqual(expect.arrayContaining([...has]));
  });

  test("the profile's arguments come last, so that they win", () => {
    const { argv } = command(launch({ args: ["--cache-ram", "0", "--parallel", "2"] }));
    expect(argv.slice(-4)).toEqual(["--cache-ram", "0", "--parallel", "2"]);
  });

  test("B37 JSON arguments with spaces stay one element each", () => {
    const args = ["--chat-template-kwargs", '{"enable_thinking": false, "x": "a b"}', "--override-kv", "a=str:b c"];
    expect(command(launch({ args })).argv.slice(-4)).toEqual(args);
    expect(command(launch({ args, context: 8, env: { A: "b" } })).argv.slice(-4)).toEqual(args);
  });

  test("B57 the first shard is what it is pointed at, whatever else was chosen", () => {
    const modelPath = "/w/m-00001-of-00002.gguf";
    const files = ["/w/m-00002-of-00002.gguf", modelPath];
    expect(lines({ modelPath, files })).toContain(`--model ${modelPath}`);
    expect(command(launch({ modelPath, files })).argv.join(" ")).not.toContain("00002-of");
  });

  test("the key is never on the command line", () => {
    expect(command(base).argv.join(" ")).not.toContain(base.apiKey);
  });
});

describe("environment", () => {
  test("on the CPU", () => {
    expect(command(base).env).toEqual({
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: base.workDir,
      TMPDIR: base.workDir,
      LANG: "C.UTF-8",
      LD_LIBRARY_PATH: "/opt/llmgw/engines/llama.cpp/b11669",
      CUDA_DEVICE_ORDER: "PCI_BUS_ID",
      CUDA_VISIBLE_DEVICES: "",
      LLAMA_API_KEY: "sk-replica",
    });
  });

  test("B11 GPUs are named by UUID in the order of the bus", () => {
    const { env } = command(launch({ gpus: [gpuUuid("GPU-titan"), gpuUuid("GPU-1080")] }));
    expect(env).toMatchObject({ CUDA_DEVICE_ORDER: "PCI_BUS_ID", CUDA_VISIBLE_DEVICES: "GPU-titan,GPU-1080" });
  });

  test("B11 the profile's own CUDA_DEVICE_ORDER stays, and the same card is picked", () => {
    const { env } = command(launch({ gpus: [gpuUuid("GPU-titan")], env: { CUDA_DEVICE_ORDER: "FASTEST_FIRST" } }));
    expect(env).toMatchObject({ CUDA_DEVICE_ORDER: "FASTEST_FIRST", CUDA_VISIBLE_DEVICES: "GPU-titan" });
  });

  test("the profile may set anything but the GPUs that placement gave and the key that routers know", () => {
    const env = { LLAMA_API_KEY: "mine", CUDA_VISIBLE_DEVICES: "0", LD_LIBRARY_PATH: "/cuda", LLAMA_ARG_THREADS: "4" };
    expect(command(launch({ env })).env).toMatchObject({
      LLAMA_API_KEY: "sk-replica",
      CUDA_VISIBLE_DEVICES: "",
      LD_LIBRARY_PATH: "/cuda",
      LLAMA_ARG_THREADS: "4",
    });
  });

  test("B32 B41 nothing of this process's environment is in it", () => {
    const leaks = { LLAMA_ARG_PORT: "1", VLLM_PORT: "41000", HTTP_PROXY: "http://127.0.0.1:9", AIP_MODE: "PREDICTION" };
    Object.assign(process.env, leaks);
    const { env } = command(base);
    for (const name of Object.keys(leaks)) Reflect.deleteProperty(process.env, name);
    expect(Object.keys(env).filter((name) => /^(LLAMA_ARG|VLLM|AIP)_|proxy/i.test(name))).toEqual([]);
  });

  test("without a key the engine asks for none", () => {
    expect(command(launch({ apiKey: "" })).env).not.toHaveProperty("LLAMA_API_KEY");
  });
});
