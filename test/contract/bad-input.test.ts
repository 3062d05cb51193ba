import { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { agent, nodeStates, SMOL, site, soon, WAYS } from "./callers.ts";

const document = (lines: readonly string[]): string =>
  `kind: Profile\nmodel: { source: hf:a/b }\n${lines.join("\n")}\n`;

const FINE = document(["name: fine"]);
/** No node has a GPU. */
const LARGE = document(["name: large", "resources: { gpus: 4 }"]);
const UNEVEN = document([
  "name: uneven",
  "engine: vllm",
  "resources: { gpus: 2, nodes: 2 }",
  "parallel: { tensor: 3 }",
]);
const SAME = document(["name: twin", "serves: [default]"]);
const CIRCLE =
  "kind: Alias\nname: x\ntargets: [{ profile: y }]\n---\nkind: Alias\nname: y\ntargets: [{ profile: x }]\n";

describe.each(Object.entries(WAYS))("a file that is wrong %s", (_, start) => {
  test.each([
    { name: "a profile that can never fit", parts: [FINE, LARGE], want: [/large: no node could hold it, even empty/] },
    {
      name: "tensor × pipeline that is not GPUs × nodes",
      parts: [FINE, UNEVEN],
      want: [/tensor.*pipeline|pipeline.*tensor/],
    },
    {
      name: "two profiles that serve one name",
      parts: [FINE, SAME],
      want: [/default is already served by the profile smol/],
    },
    {
      name: "a circle of aliases",
      parts: [FINE, CIRCLE],
      want: [/x: y is an alias itself/, /y: x is an alias itself/],
    },
    {
      name: "what no engine does, beside what no node holds and a name that is taken",
      parts: [document(["name: over", "engine: llama.cpp", "resources: { gpus: 1, nodes: 2 }"]), LARGE, SAME],
      want: [/one node only/, /large: no node could hold it/, /default is already served/],
    },
    {
      name: "what cannot be read at all, and a word that nobody knows",
      parts: [FINE, LARGE, UNEVEN, SAME, CIRCLE, document(["name: typo", "replica: 2"])],
      want: [/tensor|pipeline/, /replica.*replicas/],
    },
  ])("$name: refused as a whole, with every reason", async ({ parts, want }) => {
    const on = await site(start);
    await on.admin.apply({ manifest: SMOL });
    agent(on, { node: "n1" });
    await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "ready" });
    const refusal = ConnectError.from(
      await on.admin.apply({ manifest: parts.join("---\n"), fileName: "f.yaml" }).catch((error: unknown) => error),
    );
    for (const reason of want) expect(refusal.rawMessage).toMatch(reason);
    const { profiles } = await on.admin.listProfiles({});
    expect(profiles.map(({ name }) => name)).toEqual(["smol"]);
    expect((await on.admin.export({})).manifest).not.toContain("Alias");
  });
});
