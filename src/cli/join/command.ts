import { resolve } from "node:path";
import { parseAgentConfig } from "../../config/agent.ts";
import { parseServerAddress } from "../../config/server-address.ts";
import { isOfKind, readToken as parseToken, type TokenText } from "../../core/access-token.ts";
import { LlmgwError } from "../../core/errors.ts";
import { systemClock } from "../../platform/clock.ts";
import { readTextIfThere } from "../../platform/files.ts";
import { isThere, readHostFacts } from "../../platform/host.ts";
import type { EnrolFailure, JoinTarget } from "../../run/enrol.ts";
import type { Call, CommandSpec } from "../command.ts";
import { runAsService } from "../install-service.ts";
import { placeOf } from "../place.ts";
import { readToken } from "../secret-input.ts";
import { filesFor, type NodeFiles, refuseOverwriting, writeNode } from "./node-files.ts";

export const join: CommandSpec = {
  name: "join",
  summary: "make this machine a node: get its certificate, write its configuration, start its agent",
  details: [
    "The token comes from `llmgw ctl token create`. It carries the hash of the control plane's authority: whoever answers at the address must have a certificate of that authority, or nothing is sent. The node's private key is made here and never leaves the machine.",
    "As root on a machine with systemd the agent is installed as a service and started; otherwise the command that starts it is printed.",
  ].join("\n\n"),
  arguments: [{ form: "<url>", doc: "the control plane, such as https://llmgw.example:7443" }],
  options: [
    { flags: "--token <token>", doc: "the join token; left out, it is asked for or read from stdin" },
    { flags: "--token-file <file>", doc: "a file that holds the join token, so that it is not in the process list" },
    { flags: "--node-id <id>", doc: "the node's name in the cluster (default: the host name)" },
    { flags: "--ca <file>", doc: "trust this certificate authority, where the token names none" },
    { flags: "--force", doc: "write over a configuration that is there" },
    { flags: "--without-service", doc: "write the files and start nothing" },
  ],
  examples: [
    {
      line: "llmgw agent join https://llmgw.example:7443 --token llmgw-join-…",
      doc: "as `llmgw ctl token create` prints it; root gets a service",
    },
    {
      line: "llmgw agent join https://llmgw.example:7443 --token-file token --data-dir ~/node",
      doc: "every file below one folder, nothing started",
    },
  ],
  run: joinCluster,
};

async function joinCluster(call: Call): Promise<number> {
  const { flags, io } = call;
  const server = serverOf(call);
  const node = await nodeOf(call);
  const token = tokenOf(await readToken(call, "the join token"));
  const place = placeOf(call);
  const files = filesFor(place, flags.text("config"));
  const target: JoinTarget = { server, token, ca: await textOf(flags.text("ca")), env: io.env };
  if (!flags.given("force")) await refuseOverwriting(files);
  // Loaded late: the agent that this command belongs to has no use for it.
  const { enrol } = await import("../../run/enrol.ts");
  const { newPrivateKey } = await import("../../pki/signing-request.ts");
  const key = await newPrivateKey();
  const enrolled = await enrol(target, { node, key, now: systemClock.now() });
  if (!enrolled.ok) throw refusal(server, enrolled.error);
  const written = await writeNode(files, { server, node, token, key, enrolled: enrolled.value });
  io.stderr.write(`${node} may join ${server}.\n${written.map((path) => `${path}\n`).join("")}`);
  await start(call, files);
  return 0;
}

function serverOf({ args }: Call): string {
  const read = parseServerAddress(args[0] ?? "");
  if (read.ok) return read.value;
  throw new LlmgwError("BAD_REQUEST", `The control plane's address ${read.error}.`);
}

/** By the rules of agent.yaml, which is going to hold it. */
async function nodeOf({ flags }: Call): Promise<string> {
  const id = flags.text("node-id") ?? (await readHostFacts()).hostname;
  const text = `server: "http://localhost:7443"\nnode_id: ${JSON.stringify(id)}\n`;
  const read = parseAgentConfig({ text, file: "--node-id", env: {}, readSecret: () => ({ ok: false, error: "" }) });
  if (read.ok) return id;
  throw new LlmgwError(
    "BAD_REQUEST",
    `${JSON.stringify(id)} is no name for a node: letters, digits, dots, hyphens and underscores. Give another with --node-id.`,
  );
}

function tokenOf(text: string): TokenText {
  const token = parseToken(text);
  if (token !== undefined && isOfKind(token, "join")) return token;
  throw new LlmgwError(
    "FORBIDDEN",
    "This is no join token: was it copied whole? `llmgw ctl token create` makes one, and prints the whole command.",
  );
}

async function textOf(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const text = await readTextIfThere(path);
  if (text === undefined) throw new LlmgwError("BAD_REQUEST", `--ca: there is no file ${path}.`);
  return text;
}

function refusal(server: string, { kind, reason }: EnrolFailure): LlmgwError {
  if (kind === "refused") return new LlmgwError("FORBIDDEN", `${server} does not admit this machine: ${reason}.`);
  return new LlmgwError("UNREACHABLE", `${server} cannot be reached: ${reason}. Nothing was written.`);
}

/** There when systemd runs the machine. */
const SYSTEMD = "/run/systemd/system";

async function start(call: Call, { config }: NodeFiles): Promise<void> {
  const { io, flags } = call;
  const { dataDir, isRoot } = placeOf(call);
  const isService = isRoot && dataDir === undefined && !flags.given("without-service") && (await isThere(SYSTEMD));
  if (isService) {
    const unit = await runAsService(config, io.env);
    io.stderr.write(`${unit}\n`);
    io.stdout.write("llmgw-agent.service runs now and at each start of the machine.\n");
    return;
  }
  const words = ["llmgw", "agent", "-c", config, ...(dataDir === undefined ? [] : ["--data-dir", dataDir])];
  io.stderr.write("Start the agent with:\n");
  io.stdout.write(`${words.map(shellWord).join(" ")}\n`);
}

/** As a shell takes it for one word. */
const shellWord = (word: string): string =>
  /^[\w./:@%+=,-]+$/.test(word) ? word : `'${resolve(word).replaceAll("'", "'\\''")}'`;
