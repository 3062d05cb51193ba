import type { TestProject } from "vitest/node";
import { realLlamaServer } from "./real-engine.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A real llama-server that this machine can run. */
    llamaServer: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  project.provide("llamaServer", await realLlamaServer());
}
