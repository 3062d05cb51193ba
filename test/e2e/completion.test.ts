import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixedCluster } from "../fakes/fixed-cluster.ts";
import { type ScriptedAdmin, scriptedAdmin } from "../fakes/scripted-admin.ts";
import { typed } from "../fakes/typed.ts";

// The completion scripts in the shells that they are for. A shell that is not on this machine is skipped, and said.

const LAUNCHER = resolve(import.meta.dirname, "../../bin/llmgw");

let folder: string;
let admin: ScriptedAdmin;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-completion-"));
  admin = await scriptedAdmin(fixedCluster);
  await writeFile(join(folder, "llmgw"), stub());
  await chmod(join(folder, "llmgw"), 0o755);
  env = {
    ...process.env,
    PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    LLMGW_SERVER: "",
    LLMGW_TOKEN: "",
  };
  for (const shell of ["bash", "zsh", "fish"]) {
    await writeFile(join(folder, `llmgw.${shell}`), (await typed(["ctl", "completion", shell])).stdout);
  }
});

afterAll(async () => {
  await admin.stop();
  await rm(folder, { recursive: true });
});

/** What the program is asked, word for word, and what it says then. Asked anything else it is itself. */
const KNOWN: readonly (readonly [words: readonly string[], said: readonly string[]])[] = [
  [["ctl", "st"], ["status"]],
  [["ctl", "nodes", "--wa"], ["--watch"]],
  [
    ["ctl", "nodes", "-o", ""],
    ["json", "yaml"],
  ],
  [["ctl", "wait", "profile/q"], ["profile/qwen3"]],
  [["ctl", "ps", "--profile=q"], ["--profile=qwen3"]],
  [
    ["ctl", "chat", "acme/phi:"],
    ["acme/phi:4k", "acme/phi:8k"],
  ],
  [["ctl", "nodes", "none"], []],
  [["ctl", "apply", "-f", "llmgw.ba"], [":files"]],
];

/** Starting the program itself takes a second; the shells' part is what is tried here. */
function stub(): string {
  const cases = KNOWN.map(([words, said]) => {
    const print = said.length === 0 ? "" : `printf '%s\\n' ${said.map((word) => `'${word}'`).join(" ")}`;
    return `  'complete|--|${words.join("|")}|') ${print} ;;`;
  });
  const asked = 'all=""; for word in "$@"; do all="$all$word|"; done';
  return ["#!/bin/sh", asked, 'case "$all" in', ...cases, `  *) exec '${LAUNCHER}' "$@" ;;`, "esac", ""].join("\n");
}

async function output(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  child.stderr.setEncoding("utf8").on("data", (part: string) => (text += part));
  await once(child, "close");
  return text;
}

const exists = async (program: string): Promise<boolean> =>
  await output(program, ["--version"]).then(
    () => true,
    () => false,
  );

interface Shell {
  readonly program: string;
  /** The candidates that the shell would offer after the line. */
  readonly ask: (line: string) => Promise<readonly string[]>;
}

const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

const bash: Shell = {
  program: "bash",
  ask: async (line) => {
    // What readline does for a word at the end of a line.
    const script = [
      `source '${folder}/llmgw.bash'`,
      'compopt() { printf "%s\\n" "$2"; }',
      `COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}`,
      "_llmgw",
      '(( ${#COMPREPLY[@]} )) && printf "%s\\n" "${COMPREPLY[@]}"',
    ];
    return lines(await output("bash", ["--norc", "-c", script.join("\n")]));
  },
};

const zsh: Shell = {
  program: "zsh",
  ask: async (line) => {
    // The completion system itself needs a terminal: its two ends are taken, what it calls and what it is told.
    const words = line.split(" ").map((word) => `'${word}'`);
    const script = [
      "compdef() { :; }",
      `source '${folder}/llmgw.zsh'`,
      'compadd() { print -l -- "${candidates[@]}"; }',
      "_files() { print FILES; }",
      `words=(${words.join(" ")}); CURRENT=\${#words}`,
      "_llmgw",
    ];
    return lines(await output("zsh", ["-f", "-c", script.join("\n")]));
  },
};

const fish: Shell = {
  program: "fish",
  ask: async (line) => {
    const script = `source '${folder}/llmgw.fish'; complete -C '${line}'`;
    // A description may follow a tab.
    return lines(await output("fish", ["--no-config", "-c", script])).map((found) => found.split("\t")[0] ?? "");
  },
};

describe.each([bash, zsh, fish])("$program", ({ program, ask }) => {
  test("offers commands, options, words and names", async ({ skip }) => {
    if (!(await exists(program))) {
      console.log(`skipped: there is no ${program} on this machine`);
      skip();
    }
    const sorted = async (line: string) => (await ask(line)).toSorted();
    const isBash = program === "bash";
    expect(await sorted("llmgw ctl st")).toEqual(["status"]);
    expect(await sorted("llmgw ctl nodes --wa")).toEqual(["--watch"]);
    expect(await sorted("llmgw ctl nodes -o ")).toEqual(["json", "yaml"]);
    expect(await sorted("llmgw ctl wait profile/q")).toEqual(["profile/qwen3"]);
    // Readline takes these for the end of a word, and wants only what follows.
    expect(await sorted("llmgw ctl ps --profile=q")).toEqual([isBash ? "qwen3" : "--profile=qwen3"]);
    expect(await sorted("llmgw ctl chat acme/phi:")).toEqual(isBash ? ["4k", "8k"] : ["acme/phi:4k", "acme/phi:8k"]);
    expect(await sorted("llmgw ctl nodes none")).toEqual([]);
    // Here the shell knows more than we do.
    const files = { bash: ["default"], zsh: ["FILES"], fish: ["llmgw.bash"] }[program];
    expect(await sorted("llmgw ctl apply -f llmgw.ba")).toEqual(files);
    // And once the program itself, with a control plane.
    expect(await sorted(`llmgw ctl --server ${admin.url} nodes gpu-`)).toEqual(["gpu-a-01", "gpu-b-01"]);
  });
});
