import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAgentConfig } from "../../config/agent.ts";
import { filesFor, type NodeFiles, refuseOverwriting, writeNode } from "./node-files.ts";

let dir = "";
let files: NodeFiles;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-node-files-"));
  files = filesFor({ dataDir: dir, isRoot: false, env: {}, home: "/nobody" }, undefined);
});
afterEach(async () => {
  await rm(dir, { recursive: true });
});

const token = { secret: `llmgw-join-${"x".repeat(43)}`, pin: "p".repeat(43) };
const certificate = { kind: "certificate", certificate: "CERT", ca: "CA" } as const;
const node = { server: "https://cp:7443", node: "on", token, key: "KEY", enrolled: certificate };

async function written() {
  const text = await readFile(files.config, "utf8");
  const readSecret = (path: string) => ({ ok: true, value: `what ${path} holds` }) as const;
  const parsed = parseAgentConfig({ text, file: "agent.yaml", env: {}, readSecret });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

test.each([
  { name: "root's", place: { isRoot: true }, dir: "/etc/llmgw" },
  { name: "a user's", place: {}, dir: "/home/u/.config/llmgw" },
  { name: "a user's XDG", place: { env: { XDG_CONFIG_HOME: "/x" } }, dir: "/x/llmgw" },
  { name: "--data-dir", place: { isRoot: true, dataDir: "/d" }, dir: "/d" },
])("$name configuration is in $dir", ({ place, dir: folder }) => {
  const usual = { dataDir: undefined, isRoot: false, env: {}, home: "/home/u" };
  expect(filesFor({ ...usual, ...place }, undefined)).toMatchObject({
    config: `${folder}/agent.yaml`,
    key: `${folder}/agent-key.pem`,
  });
});

test("-c names the file, and the others lie beside it", () => {
  const place = { dataDir: "/d", isRoot: true, env: {}, home: "/" };
  expect(filesFor(place, "/srv/n/a.yaml")).toMatchObject({ config: "/srv/n/a.yaml", cert: "/srv/n/agent.pem" });
});

test("what is written is read back, whatever the id looks like in YAML; keys are the owner's alone", async () => {
  const paths = await writeNode(files, node);
  expect(paths).toEqual([files.key, files.cert, files.ca, files.config]);
  expect(await written()).toMatchObject({
    server: ["https://cp:7443"],
    node_id: "on",
    tls: { ca: files.ca, cert: files.cert, key: files.key },
  });
  expect((await stat(files.key)).mode & 0o777).toBe(0o600);
  expect(await readFile(files.config, "utf8")).not.toContain(token.secret);
});

test("without certificates the token goes into a file of its own, and what it says of an authority does not", async () => {
  await writeNode(files, { ...node, server: "http://cp:7443", enrolled: { kind: "token" } });
  expect(await written()).toMatchObject({ join_token: `what ${files.token} holds` });
  expect((await written()).tls).toBeUndefined();
  expect(await readFile(files.token, "utf8")).toBe(`${token.secret}\n`);
  expect((await stat(files.token)).mode & 0o777).toBe(0o600);
});

test("an authority that the machine trusts anyway is not written down", async () => {
  await writeNode(files, { ...node, enrolled: { ...certificate, ca: undefined } });
  expect((await written()).tls).toEqual({ ca: undefined, cert: files.cert, key: files.key });
});

test("another ca.pem that is there stays: it may be the control plane's own", async () => {
  await writeFile(files.ca, "OTHER");
  await writeNode(files, node);
  expect(await readFile(files.ca, "utf8")).toBe("OTHER");
  expect((await written()).tls?.ca).toBe(join(dir, "agent-ca.pem"));
  expect(await readFile(join(dir, "agent-ca.pem"), "utf8")).toBe("CA");
});

test("everything that would be lost is named", async () => {
  await expect(refuseOverwriting(files)).resolves.toBeUndefined();
  await writeNode(files, node);
  await expect(refuseOverwriting(files)).rejects.toThrow(/agent\.yaml, .*agent\.pem, .*agent-key\.pem\. --force/);
});
