import { create } from "@bufbuild/protobuf";
import { LlmgwError } from "../../core/errors.ts";
import { type Applied, ApplyResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { AdminClient } from "../../run/client.ts";
import type { Call, CommandSpec } from "../command.ts";
import { failureOf } from "../failure.ts";
import { OUTPUT, TIMEOUT } from "../options.ts";
import { type Manifest, readManifests } from "./manifests.ts";
import { isDocument, outputOf, plain, printDocument } from "./output.ts";
import { type Session, withSession } from "./session.ts";
import { waitUntilReady } from "./wait-ready.ts";

export const apply: CommandSpec = {
  name: "apply",
  summary: "make what is to run be what the files say",
  details: "A file whose documents are not all right changes nothing, and every problem in it is named.",
  options: [
    {
      flags: "-f, --file <file>",
      doc: "a manifest, a folder of them, or - for stdin; may be given several times",
      required: true,
      repeatable: true,
    },
    { flags: "--wait", doc: "wait until every applied profile is ready" },
    TIMEOUT,
    OUTPUT,
  ],
  examples: [
    { line: "llmgw ctl apply -f qwen3.yaml --wait", doc: "apply a profile and wait until it answers" },
    { line: "cat profiles/*.yaml | llmgw ctl apply -f -", doc: "from stdin" },
  ],
  run: async (call) => {
    const manifests = await readManifests(call.flags.list("file"), call.io);
    return withSession(call, (session) => applyManifests(call, session, manifests));
  },
};

async function applyManifests(call: Call, { client }: Session, manifests: readonly Manifest[]): Promise<number> {
  const { applied, problems } = await applyAll(client, manifests);
  if (problems.length === 0 || applied.length > 0) printApplied(call, applied);
  if (problems.length > 0) throw new LlmgwError("BAD_CONFIG", problems.join("\n"));
  if (call.flags.given("wait")) {
    for (const { kind, name } of applied) {
      if (kind === "Profile") await waitUntilReady(call, client, name);
    }
  }
  return 0;
}

/** Goes on after a file that was refused, so that one run names the problems of all. Any other failure ends it. */
async function applyAll(
  client: AdminClient,
  manifests: readonly Manifest[],
): Promise<{ readonly applied: readonly Applied[]; readonly problems: readonly string[] }> {
  const applied: Applied[] = [];
  const problems: string[] = [];
  for (const { fileName, text } of manifests) {
    try {
      applied.push(...(await client.apply({ manifest: text, fileName })).applied);
    } catch (error) {
      const failure = failureOf(error);
      if (failure.code !== "BAD_CONFIG") throw error;
      problems.push(failure.message);
    }
  }
  return { applied, problems };
}

export function printApplied(call: Call, applied: readonly Applied[]): void {
  const output = outputOf(call);
  if (isDocument(output)) {
    printDocument(call, output, plain(ApplyResponseSchema, create(ApplyResponseSchema, { applied: [...applied] })));
    return;
  }
  const name = (it: Applied): string => `${it.kind.toLowerCase()}/${it.name}`;
  const lines = applied.map((it) => (output === "name" ? name(it) : `${name(it)} ${it.outcome}`));
  call.io.stdout.write(lines.map((line) => `${line}\n`).join(""));
}
