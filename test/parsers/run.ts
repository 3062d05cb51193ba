// npm run test:parsers [-- --write] [--json]
// Shows the command lines that are made for vLLM, Ray and SGLang to the real programs' own parsers, in the releases that
// PyPI has, and compares what they read with what was meant. Where the releases cannot be had it says why, and ends well.
// With --write the options that the parsers know are kept for the tests that run without them.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { pythonOf, sglangEnvironment, sharedEnvironment } from "./environment.ts";
import { PROGRAMS, type Shown, type ShownProgram } from "./programs.ts";
import { CannotAsk, run } from "./run-tool.ts";

const { values: flags } = parseArgs({
  options: { write: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Answers {
  readonly answers: readonly { readonly read?: Readonly<Record<string, unknown>>; readonly refusal?: string }[];
  readonly options: readonly string[];
}

/** It must refuse this, or its word is worth nothing. */
const NONSENSE: Shown = { name: "nonsense", argv: ["serve", "/w", "--frobnicate"], expected: {} };

async function ask(program: ShownProgram, shared: string, shown: readonly Shown[]): Promise<Answers> {
  const { python, variables } =
    program.parser === "sglang"
      ? await sglangEnvironment(shared, program.version)
      : { python: pythonOf(shared), variables: {} };
  const folder = await mkdtemp(join(tmpdir(), "llmgw-parsers-"));
  try {
    const [cases, answers] = [join(folder, "cases.json"), join(folder, "answers.json")];
    await writeFile(cases, JSON.stringify(shown.map(({ argv }) => argv)));
    const script = join(import.meta.dirname, "parse.py");
    // No GPU is needed to read a command line.
    const env = { ...variables, VLLM_TARGET_DEVICE: "cpu", HF_HUB_OFFLINE: "1", HOME: folder };
    await run([python, script, program.parser, cases, answers], env);
    return JSON.parse(await readFile(answers, "utf8")) as Answers;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function faultOf({ expected }: Shown, answer: Answers["answers"][number] | undefined): string | undefined {
  if (answer?.read === undefined) return answer?.refusal ?? "no answer";
  const { read } = answer;
  const wrong = Object.entries(expected).filter(([name, value]) => !isDeepStrictEqual(read[name], value));
  if (wrong.length === 0) return undefined;
  return wrong.map(([name, value]) => `${name} is ${show(read[name])}, not ${show(value)}`).join("; ");
}

const show = (value: unknown): string => (value === undefined ? "not there" : JSON.stringify(value));

async function check(program: ShownProgram, shared: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-launch-"));
  const nonsense = program.parser === "ray" ? { ...NONSENSE, argv: ["start", "--frobnicate"] } : NONSENSE;
  try {
    const shown = [...(await program.show(folder)), nonsense];
    const { answers, options } = await ask(program, shared, shown);
    if (flags.write) await keepOptions(program, options);
    const faults = shown.map((one, index) => {
      const fault = faultOf(one, answers[index]);
      return one === nonsense ? (fault === undefined ? "it takes any argument" : undefined) : fault;
    });
    const label = `${program.parser} ${program.version}`;
    for (const [index, one] of shown.entries()) {
      if (one !== nonsense) say(`${label.padEnd(16)} ${one.name.padEnd(34)} ${faults[index] ?? "read as meant"}`);
    }
    return faults.flatMap((fault, index) =>
      fault === undefined ? [] : [`${label} ${shown[index]?.name ?? ""}: ${fault}`],
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function keepOptions({ parser, version }: ShownProgram, options: readonly string[]): Promise<void> {
  const path = join(import.meta.dirname, "../fixtures/engine-options", `${parser}-${version}.txt`);
  await writeFile(path, `${options.join("\n")}\n`);
}

try {
  const shared = await sharedEnvironment(say);
  const faults: string[] = [];
  for (const program of PROGRAMS) faults.push(...(await check(program, shared)));
  say(
    faults.length === 0
      ? "\nevery command line is read as it was meant"
      : `\n${String(faults.length)} are not:\n${faults.join("\n")}`,
  );
  if (flags.json) say(JSON.stringify({ faults }));
  process.exitCode = faults.length === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof CannotAsk)) throw error;
  say(`skipped: ${error.message}`);
  if (flags.json) say(JSON.stringify({ skipped: error.message }));
}
