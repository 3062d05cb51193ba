import { join } from "node:path";
import { formatBytes } from "../../core/format.ts";
import { redactor } from "../../core/redact.ts";
import { VERSION } from "../../core/version.ts";
import { systemClock } from "../../platform/clock.ts";
import { stampOf } from "../../platform/file-start.ts";
import { packTarGz, writeBelow } from "../../platform/pack.ts";
import { removeAll, renameOver } from "../../platform/pieces.ts";
import { privateFolder } from "../../platform/private-folder.ts";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { checkTarget } from "../target-file.ts";
import { isDocument, outputOf, printDocument } from "./output.ts";
import { type Session, withSession } from "./session.ts";

export const debug: CommandSpec = {
  name: "debug",
  summary: "gather what somebody who helps needs to see into one file, with secrets removed",
  details:
    "A tar.gz with the status, nodes, profiles, replicas, models, engines, weights, keys without the keys, events, rollouts, the configuration in force, numbers, versions, and the last lines of each engine. The control plane takes every secret out that it knows, and whatever looks like one; look through it all the same before you send it.",
  arguments: [{ form: "[file]", doc: "where to (default: llmgw-debug-TIME.tar.gz in this folder)" }],
  options: [
    { flags: "--tail <n>", doc: "the last n lines of each engine's output (default: 200)" },
    { flags: "--force", doc: "write over the file" },
    OUTPUT_PAGE,
  ],
  examples: [
    { line: "llmgw ctl debug", doc: "then `tar -tzf` shows what is in it" },
    { line: "llmgw ctl debug /tmp/for-support.tar.gz --tail 2000", doc: "with more of the engines' output" },
  ],
  run: async (call) => {
    const file = call.args[0] ?? `llmgw-debug-${stamp()}.tar.gz`;
    const logLines = call.flags.integer("tail", 1) ?? 0;
    await checkTarget(file, call.flags.given("force"));
    return withSession(call, (session) => gather(call, session, { file, logLines }));
  },
};

/** "20260131-235959" */
const stamp = (): string =>
  new Date(systemClock.now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");

interface Bundle {
  readonly file: string;
  readonly logLines: number;
}

/** The one folder that the bundle unpacks to. */
const FOLDER = "llmgw-debug";
/** Names come from the other side: nothing may be written outside the folder. */
const SAFE_NAME = /^(?!.*(^|\/)\.)[\w.-]+(\/[\w.-]+)?$/;

async function gather(call: Call, { client, connection }: Session, { file, logLines }: Bundle): Promise<number> {
  await using folder = await privateFolder();
  const within = join(folder.path, FOLDER);
  // The token of this call may be a person's, whom the control plane does not name among its secrets.
  const hide = redactor(connection.token === undefined ? [] : [connection.token]);
  const names: string[] = [];
  const add = async (name: string, text: string): Promise<void> => {
    await writeBelow(within, name, hide(text));
    names.push(name);
  };
  for await (const { name, content } of client.debug({ logLines }, { timeoutMs: 0 })) {
    if (SAFE_NAME.test(name)) await add(name, new TextDecoder().decode(content));
  }
  await add("client.json", `${JSON.stringify(aboutClient(connection.server, connection.from), undefined, 2)}\n`);
  await pack(folder.path, file);
  const output = outputOf(call);
  if (isDocument(output)) printDocument(call, output, { file, files: names });
  else {
    const bytes = (await stampOf(file))?.bytes ?? 0;
    call.io.stdout.write(`${file} (${formatBytes(bytes)}) holds ${String(names.length)} files\n`);
    call.io.stderr.write("Secrets were taken out. Look through it before you send it to somebody.\n");
  }
  return 0;
}

/** Beside its target, so that it has its name only when it is whole. */
async function pack(parent: string, file: string): Promise<void> {
  const part = `${file}.part-${String(process.pid)}`;
  try {
    await packTarGz(parent, FOLDER, part);
    await renameOver(part, file);
  } finally {
    await removeAll([part]);
  }
}

const aboutClient = (server: string, from: string) => ({
  llmgw: VERSION,
  runtime: process.versions,
  system: { platform: process.platform, arch: process.arch },
  server,
  from,
});
