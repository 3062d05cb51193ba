import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { typed, type Typing } from "../fakes/typed.ts";
import { agent, nodeStates, serving, site, SMOL, soon, stops } from "./callers.ts";
import { overSockets, type Site } from "./site.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-codes-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** A person at a control plane with one node that serves the profile smol. */
async function desk() {
  const on = await site(overSockets);
  const { id } = await serving(on);
  return { on, id, ctl: (...words: readonly string[]) => ctl(on, words) };
}

const ctl = ({ url = "", token }: Site, words: readonly string[], typing: Typing = {}) =>
  typed(["ctl", ...words], { ...typing, env: { LLMGW_SERVER: url, LLMGW_TOKEN: token, ...typing.env } });

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** A port that nobody listens on: it was ours a moment ago. */
const closedPort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        resolve(typeof address === "object" && address !== null ? address.port : 1);
      });
    });
  });

describe("exit codes", () => {
  test("0: done", async () => {
    const { ctl: run } = await desk();
    for (const words of ["status", "nodes", "wait profile/smol --timeout 5s", "cordon n1", "export"]) {
      expect({ words, ...(await run(...words.split(" "))) }).toMatchObject({ code: 0, stderr: "" });
    }
  });

  test("1: failed", async () => {
    const { on, ctl: run } = await desk();
    const nobody = `http://127.0.0.1:${String(await closedPort())}`;
    expect(await run("status", "--server", nobody)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot be reached.*Is it running\?/) as string,
    });
    expect(await run("delete", "node", "n1")).toMatchObject({
      code: 1,
      stderr: "llmgw: node n1 is connected: stop its agent first, else it would join again at once\n",
    });
    await on.admin.apply({ manifest: `${SMOL}args: [--new]\n` });
    expect((await run("backup", await file("taken.db", ""))).code).toBe(1);
  });

  test("1: something would change, 2: it could not be told, of diff and of apply --plan", async () => {
    const { ctl: run } = await desk();
    const same = await file("same.yaml", SMOL);
    const other = await file("other.yaml", `${SMOL}context: 2048\n`);
    for (const verb of [["diff"], ["apply", "--plan"]]) {
      const codes = await Promise.all([
        run(...verb, "-f", same),
        run(...verb, "-f", other),
        run(...verb, "-f", join(folder, "none.yaml")),
        run(...verb, "-f", same, "--token", "wrong"),
      ]);
      expect({ verb, codes: codes.map(({ code }) => code) }).toEqual({ verb, codes: [0, 1, 2, 2] });
    }
  });

  test("2: bad usage, or a bad manifest of which every problem is named", async () => {
    const { on, ctl: run } = await desk();
    const [a, b] = [await file("a.yaml", "kind: Profile\nname: A\n"), await file("b.yaml", SMOL)];
    const c = await file("c.yaml", `# the same again\n${SMOL}`);
    const wrong = await run("apply", "-f", b, "-f", a, "-f", c);
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
    expect(wrong.stderr.split("\n").map((line) => line.replaceAll(folder, ""))).toEqual([
      "llmgw: Nothing was applied:",
      "/a.yaml:1: model is missing",
      expect.stringMatching(/^\/a\.yaml:2: name must be at most 63 small letters/),
      "/c.yaml:3: Profile smol is in /b.yaml too",
      "",
    ]);
    // A folder and a file of it: it is read once.
    expect((await run("diff", "-f", b, "-f", b)).code).toBe(0);
    expect((await run("nodes", "--wach")).code).toBe(2);
    expect((await run("wait", "profile/smol", "--for", "lunch")).code).toBe(2);
    expect((await on.admin.listProfiles({})).profiles).toHaveLength(1);
    const named = await run("run", "hf:a/b", "--name", "My Model", "--detach");
    expect(named).toMatchObject({ code: 2, stdout: "" });
    expect(named.stderr).toBe(
      'llmgw: --name must be at most 63 small letters, digits, hyphens and dots, with a letter or digit at both ends, but is "My Model"; did you mean my-model?\n',
    );
    expect((await run("run", "hf:a/b", "--context-length", "999999999999", "--detach")).stderr).toMatch(
      /^llmgw: --context-length must be/,
    );
  });

  test.each([
    ["profiles smoll", 'There is no profile "smoll". Did you mean "smol"?'],
    ["nodes n2", 'There is no node "n2". Did you mean "n1"?'],
    ["replicas smoll-1", "There is no replica"],
    ["delete profile smoll", 'Did you mean "smol"?'],
    ["delete profil smol", 'Did you mean "profile"?'],
    ["scale smoll 2", 'Did you mean "smol"?'],
    ["restart smoll", 'Did you mean "smol"?'],
    ["rollout status smoll", 'Did you mean "smol"?'],
    ["drain n2", 'Did you mean "n1"?'],
    ["cordon n2", 'Did you mean "n1"?'],
    ["explain smoll", 'Did you mean "smol"?'],
    ["explain req-0", 'There is no request "req-0" among the last ones. It may still run, or be older'],
    ["logs smoll", 'Did you mean "smol"?'],
    ["logs smol --rank 3", "has no rank 3"],
    ["engines --node n2", 'Did you mean "n1"?'],
    ["weights --node n2", 'Did you mean "n1"?'],
    ["ps --profile smoll", 'Did you mean "smol"?'],
    ["bench smoll", 'There is no model "smoll". Did you mean "smol"?'],
    ["wait profile/smoll", 'Did you mean "smol"?'],
    ["keys revoke nobody", "there is no client key"],
    ["status --context lab", 'no context "lab"'],
  ])("3: not found, and what was meant: %s", async (line, says) => {
    const { ctl: run } = await desk();
    const { code, stdout, stderr } = await run(...line.split(" "));
    expect({ code: line.startsWith("delete profil ") ? 3 : code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain(says);
  });

  test("4: the time was over", async () => {
    const { ctl: run } = await desk();
    expect(await run("wait", "node/n1", "--for", "lost", "--timeout", "100ms")).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("node/n1 was not lost within 100ms: it is ready") as string,
    });
    const late = await file("late.yaml", "kind: Profile\nname: late\nmodel: { source: hf:a/z }\n");
    expect((await run("apply", "-f", late, "--wait", "--timeout", "100ms")).code).toBe(4);
  });

  test.each([
    ["a wrong token", "wrong"],
    ["no token", ""],
  ])("5: refused with %s, and where the right one is", async (_, token) => {
    const on = await site(overSockets);
    const { code, stdout, stderr } = await ctl(on, ["nodes"], { env: { LLMGW_TOKEN: token } });
    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr).toContain("admin-token");
  });

  test("a failure under -o json is one object on stderr, whatever the code", async () => {
    const on = await site(overSockets);
    const cases: readonly (readonly [readonly string[], string, number])[] = [
      [["profiles", "x"], "not_found", 3],
      [["profiles", "--token", "x"], "unauthenticated", 5],
      [["delete", "node", "n"], "not_found", 3],
      [["run", "nonsense"], "bad_request", 2],
    ];
    for (const [words, name, exit] of cases) {
      const { code, stdout, stderr } = await ctl(on, [...words, "-o", "json"]);
      expect({ words, code, stdout }).toEqual({ words, code: exit, stdout: "" });
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: name } });
    }
  });
});

test("files and stdin are one change; what is exported changes nothing when it is applied", async () => {
  const on = await site(overSockets);
  const joined = agent(on, { node: "n1" });
  stops.unshift(() => joined.drop());
  await expect.poll(() => nodeStates(on), soon).toEqual({ n1: "ready" });
  const manifest = (name: string) => `kind: Profile\nname: ${name}\nmodel: { source: hf:a/${name} }\nreplicas: 0\n`;
  const stdin = `${manifest("three")}env: { HF_TOKEN: hf_0123456789abcdefghij }\n`;
  const [one, two] = [await file("one.yaml", manifest("one")), await file("two.yaml", manifest("two"))];
  // As a shell writes out -f *.yaml.
  const applied = await ctl(on, ["apply", "-o", "name", "-f", one, two, "-"], { stdin });
  expect(applied).toMatchObject({ code: 0, stdout: "profile/one\nprofile/two\nprofile/three\n" });
  await ctl(on, ["cordon", "n1"]);
  const exported = await ctl(on, ["export"]);
  expect(exported.stdout.endsWith("# node n1 is cordoned: llmgw ctl cordon n1\n")).toBe(true);
  expect(await ctl(on, ["diff", "-f", "-"], { stdin: exported.stdout })).toMatchObject({ code: 0, stdout: "" });
  const other = await site(overSockets);
  expect((await ctl(other, ["apply", "-f", "-"], { stdin: exported.stdout })).code).toBe(0);
  const again = await ctl(other, ["export"]);
  expect(again.stdout).toBe(exported.stdout.split("\n").slice(0, -2).concat("").join("\n"));
  expect(exported.stdout.split("---\n").map((text) => (parse(text) as { name: string }).name)).toEqual([
    "one",
    "three",
    "two",
  ]);
});
