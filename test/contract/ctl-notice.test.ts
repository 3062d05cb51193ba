import { afterAll, beforeAll, expect, test } from "vitest";
import { fixedCluster } from "../fakes/fixed-cluster.ts";
import { type ScriptedAdmin, scriptedAdmin } from "../fakes/scripted-admin.ts";
import { typed } from "../fakes/typed.ts";

// While the control plane suspects itself and moves nothing, that stands before everything else that it shows.

const NOTICE = "3 of 4 nodes are silent at once, so nothing is moved";

let admin: ScriptedAdmin;
beforeAll(async () => {
  const { listNodes, listProfiles, listReplicas, listModels } = fixedCluster;
  admin = await scriptedAdmin({
    ...fixedCluster,
    listNodes: (asked) => ({ ...listNodes(asked), notice: NOTICE }),
    listProfiles: (asked) => ({ ...listProfiles(asked), notice: NOTICE }),
    listReplicas: (asked) => ({ ...listReplicas(asked), notice: NOTICE }),
    listModels: () => ({ ...listModels(), notice: NOTICE }),
  });
});
afterAll(() => admin.stop());

const ctl = (...words: readonly string[]) =>
  typed(["ctl", ...words], { env: { LLMGW_SERVER: admin.url, LLMGW_TOKEN: "t" } });

test.each(["nodes", "profiles", "replicas", "models", "ps"])(
  "ctl %s: beside the table, which scripts read",
  async (verb) => {
    const { code, stdout, stderr } = await ctl(verb);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `! ${NOTICE}\n` });
    expect(stdout).not.toContain(NOTICE);
  },
);

test("on a node's page it is the first line", async () => {
  const { stdout } = await ctl("nodes", "gpu-a-01");
  expect(stdout.split("\n")[0]).toBe(`! ${NOTICE}`);
});

test("in a document it is a field", async () => {
  const { stdout, stderr } = await ctl("replicas", "-o", "json");
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toMatchObject({ notice: NOTICE });
});
