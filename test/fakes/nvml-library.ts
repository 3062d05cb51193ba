import { execFileSync } from "node:child_process";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The compiled stand-in for the driver's library; undefined, with a printed reason, where there is no C compiler. */
export async function compileNvml(): Promise<NvmlStandIn | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-nvml-"));
  const source = join(import.meta.dirname, "nvml-stand-in.c");
  const built = join(folder, "built.so");
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-o", built, source, "-ldl"], { stdio: "pipe" });
  } catch (error) {
    process.stderr.write(`\nNVML is not tried through a compiled library: cc does not work here (${String(error)})\n`);
    await rm(folder, { recursive: true });
    return undefined;
  }
  return new NvmlStandIn(folder, built);
}

export class NvmlStandIn {
  readonly #folder: string;
  readonly #built: string;
  #count = 0;

  constructor(folder: string, built: string) {
    this.#folder = folder;
    this.#built = built;
  }

  /** The path of a library that answers so; `change` makes the same one answer otherwise. */
  async library(answers: readonly string[]): Promise<string> {
    const path = join(this.#folder, `libnvidia-ml-${String(this.#count++)}.so.1`);
    await copyFile(this.#built, path);
    await this.change(path, answers);
    return path;
  }

  async change(path: string, answers: readonly string[]): Promise<void> {
    await writeFile(`${path}.answers`, `${answers.join("\n")}\n`);
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The answers of one card that is well. */
export function cardAnswers(index: number, change: Readonly<Record<string, string>> = {}): readonly string[] {
  const answers = {
    uuid: `GPU-${String(index)}`,
    name: "NVIDIA H100 80GB HBM3",
    bus: `00000000:${(0x1b + index).toString(16).toUpperCase()}:00.0`,
    memory: "85520809984 85000000000 520809984",
    compute: "9 0",
    ecc: "0",
    remapped: "0 0 0 0",
    ...change,
  };
  return Object.entries(answers).map(([name, value]) => `gpu ${String(index)} ${name} = ${value}`);
}

export function machineAnswers(count: number, cards: readonly (readonly string[])[]): readonly string[] {
  return [`count = ${String(count)}`, "driver = 570.86.15", "ancestor = 40", ...cards.flat()];
}
