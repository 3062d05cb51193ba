import type { Engine } from "../../src/engines/engine.ts";
import { llamacpp } from "../../src/engines/llamacpp/index.ts";
import type { PythonPackage } from "../../src/engines/python-package.ts";

/** A stand-in for an engine that is a package of Python; only what installing asks of it is its own. */
export const pythonEngine = (change: Partial<PythonPackage> = {}): Engine => ({
  ...llamacpp,
  name: "vllm",
  program: "standin",
  python: { name: "standin", requiresPython: ">=3.9", program: "standin", selfTest: ["--help"], ...change },
  probes: { version: ["--version"] },
  readVersion: (output) => /standin (\S+)/.exec(output)?.[1],
  readDevices: () => [],
});
