import { spawn } from "node:child_process";

/** Why the parsers cannot be asked on this machine. */
export class CannotAsk extends Error {}

/** What a tool prints on its output; a tool that is missing or fails is why the parsers cannot be asked. */
export function run(
  [file, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let [out, errors] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    child.on("error", (error) => {
      reject(new CannotAsk(`${file} cannot be run: ${error.message}`));
    });
    child.on("close", (code) => {
      if (code === 0) resolve(out);
      else reject(new CannotAsk(`${[file, ...args.slice(0, 3)].join(" ")} failed: ${lastLines(errors)}`));
    });
  });
}

const lastLines = (text: string): string => text.trim().split("\n").slice(-3).join(" | ").slice(0, 600);
