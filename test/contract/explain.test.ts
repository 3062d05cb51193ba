import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import { inProcess, type Site } from "./site.ts";

let site: Site | undefined;
afterEach(async () => {
  await site?.stop();
});

test("explain over the admin API: the estimate says that nobody knows the model, and a wrong name what was meant", async () => {
  site = await inProcess();
  const { admin } = site;
  await admin.apply({
    manifest: "kind: Profile\nname: qwen\nmodel: { source: hf:acme/qwen-GGUF/qwen.gguf }\n",
    fileName: "qwen.yaml",
  });
  const answer = await admin.explain({ name: "qwen" });
  expect(answer).toMatchObject({ profile: "qwen", replica: "", basis: "default", nodes: [] });
  expect(answer.origin).toContain("nobody is asked here");
  const { replicas } = await admin.listReplicas({ profile: "qwen" });
  expect(replicas[0]?.estimateOrigin).toBe(answer.origin);
  expect(await admin.explain({ name: replicas[0]?.id ?? "" })).toMatchObject({ state: "pending" });
  const refusal = await admin.explain({ name: "qwem" }).catch((error: unknown) => error);
  expect(refusal instanceof ConnectError ? [refusal.code, refusal.rawMessage] : refusal).toEqual([
    Code.NotFound,
    expect.stringContaining('There is no profile, replica or upstream "qwem". Did you mean'),
  ]);
});
