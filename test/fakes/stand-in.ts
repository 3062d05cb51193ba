import { ok } from "../../src/core/result.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { memoryRules } from "../../src/engines/llamacpp/memory.ts";

const PROGRAM = new URL("stand-in-engine.ts", import.meta.url).pathname;

/** The adapter of the stand-in engine program. `--wrapped` as first argument starts it below a shell that waits for it. */
export const standIn: Engine = {
  name: "llama.cpp",
  program: "stand-in-engine",
  formats: ["gguf"],
  memoryRules,
  chooseFiles: () => ok({ files: [], main: "" }),
  command({ host, port, args, apiKey, env, workDir, tls }) {
    const wrapped = args[0] === "--wrapped";
    const files = tls === undefined ? [] : ["--cert", tls.certFile, "--key", tls.keyFile];
    const own = ["--host", host, "--port", String(port), ...files, ...(wrapped ? args.slice(1) : args)];
    const program = [process.execPath, "--disable-warning=ExperimentalWarning", PROGRAM, ...own] as const;
    return {
      argv: wrapped ? ["/bin/sh", "-c", '"$@" & wait', "sh", ...program] : program,
      env: { PATH: "/usr/bin:/bin", HOME: workDir, STAND_IN_KEY: apiKey, ...env },
    };
  },
  healthRequest: () => ({ method: "GET", path: "/health", body: undefined }),
  proofRequest: () => ({ method: "POST", path: "/v1/completions", body: "{}" }),
  checkProof: (status, body) => (status === 200 ? ok(undefined) : { ok: false, error: `${String(status)} ${body}` }),
  capacityRequest: () => ({ method: "GET", path: "/props", body: undefined }),
  readCapacity: (body) => JSON.parse(body) as { slots: number; context: number },
  work: {
    request: () => ({ method: "GET", path: "/work", body: undefined }),
    read: (body) => JSON.parse(body) as { requests: number; done: number },
  },
  explainExit: ({ code, signal }, lastLines) => ({
    reason: `it ended with ${signal ?? code?.toString() ?? "an unknown status"}: ${lastLines.at(-1) ?? "no output"}`,
    retry: code !== 2,
  }),
  readVersion: () => undefined,
  readDevices: () => [],
};
