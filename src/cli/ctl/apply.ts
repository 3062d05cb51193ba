import { parseManifests } from "../../config/manifest.ts";
import { renderProblems } from "../../config/problem.ts";
import { create } from "@bufbuild/protobuf";
import { LlmgwError } from "../../core/errors.ts";
import { type Applied, ApplyResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { Call, CommandSpec } from "../command.ts";
import { MANIFEST_FILES, MORE_FILES, OUTPUT, TIMEOUT } from "../options.ts";
import { planPage } from "../render/plan-page.ts";
import { type Manifest, readManifests } from "./manifests.ts";
import { isDocument, outputOf, plain, printDocument } from "./output.ts";
import { showPlan } from "./plan.ts";
import { type Session, withSession } from "./session.ts";
import { waitUntilReady } from "./wait-ready.ts";

export const apply: CommandSpec = {
  name: "apply",
  summary: "make what is to run be what the files say",
  details:
    "All files are one change: when one document is wrong nothing is changed, and every problem of every file is named.",
  arguments: [MORE_FILES],
  options: [
    MANIFEST_FILES,
    {
      flags: "--plan",
      doc: "change nothing; say what would be placed where, fetched and restarted. Exit code 0: nothing would change, 1: something, 2: it could not be told",
    },
    { flags: "--wait", doc: "wait until every applied profile is ready" },
    TIMEOUT,
    OUTPUT,
  ],
  examples: [
    { line: "llmgw ctl apply -f qwen3.yaml --wait", doc: "apply a profile and wait until it answers" },
    { line: "llmgw ctl apply -f qwen3.yaml --plan", doc: "only say what it would do" },
    { line: "llmgw ctl apply -f profiles/", doc: "every .yaml, .yml and .json file of a folder" },
    { line: "llmgw ctl export | llmgw ctl --context other apply -f -", doc: "from stdin" },
  ],
  run: async (call) => {
    if (call.flags.given("plan")) return showPlan(call, planPage);
    const manifests = await readManifests(call);
    refuseWrongOnes(manifests);
    return withSession(call, (session) => applyManifests(call, session, manifests));
  },
};

async function applyManifests(call: Call, { client }: Session, manifests: readonly Manifest[]): Promise<number> {
  const files = manifests.map(({ fileName, text }) => ({ fileName, manifest: text }));
  const { applied } = await client.apply({ files });
  printApplied(call, applied);
  if (call.flags.given("wait")) {
    for (const { kind, name } of applied) {
      if (kind === "Profile") await waitUntilReady(call, client, name);
    }
  }
  return 0;
}

/** Before anything is sent: what is wrong can be told without a control plane. */
function refuseWrongOnes(manifests: readonly Manifest[]): void {
  const parsed = parseManifests(manifests);
  if (!parsed.ok) throw new LlmgwError("BAD_CONFIG", `Nothing was applied:\n${renderProblems(parsed.error)}`);
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
