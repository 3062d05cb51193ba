import { chmod, copyFile, readFile, rename, writeFile } from "node:fs/promises";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { createAuthority, type Leaf, openAuthority } from "../../src/pki/make.ts";
import { openssl, opensslVersion } from "../fakes/openssl.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { says, TlsSite } from "./tls-site.ts";
import { until } from "./wait.ts";

const DAY = 86_400_000;
const GOOD = ["node-a", "node-b", "node-c"] as const;

let site: TlsSite;
const good: Running[] = [];

beforeAll(async () => {
  site = await TlsSite.start();
  for (const id of [...GOOD, "node-d"]) await site.cert("issue-client", id);
  for (const id of GOOD) good.push(await site.agent(id));
  for (const agent of good) await says(agent, /connected to/);
});

afterAll(async () => {
  await site.stop();
});

const connections = (agent: Running): number => agent.output().match(/connected to/g)?.length ?? 0;

async function newAuthority() {
  const texts = await createAuthority({ now: millis(Date.now()), lifetime: millis(DAY) });
  const opened = openAuthority(texts);
  if (!opened.ok) throw new Error(opened.error);
  return { texts, authority: opened.value };
}

describe("a certificate is refused with its own reason, and the others are not disturbed", () => {
  test.each<{ readonly name: string; readonly pair: string; readonly leaf: Partial<Leaf>; readonly why: RegExp }>([
    {
      name: "another node's",
      pair: "bad-other",
      leaf: { commonName: "node-a", names: [{ kind: "dns", value: "node-a" }] },
      why: /the certificate of node-a \(serial [0-9A-F]+\) is refused: it names node-a, but the agent says that it is node-x/,
    },
    {
      name: "a name in another case",
      pair: "bad-case",
      leaf: { commonName: "Node-X", names: [{ kind: "dns", value: "Node-X" }] },
      why: /it names Node-X, but the agent says that it is node-x; ids are compared exactly/,
    },
    {
      name: "expired",
      pair: "bad-expired",
      leaf: { now: millis(Date.now() - 3 * DAY) },
      why: /it expired at .* UTC, and the control plane's clock says .* UTC; issue a new one with .*; this machine's clock says .* UTC/,
    },
    {
      name: "not yet valid",
      pair: "bad-early",
      leaf: { notBefore: millis(Date.now() + 2 * DAY), lifetime: millis(9 * DAY) },
      why: /it is not valid before .* UTC, and the control plane's clock says .* UTC; this machine's clock says .* UTC/,
    },
    { name: "a server's", pair: "bad-usage", leaf: { usage: "server" }, why: /its usage does not allow clients/ },
    {
      name: "addresses and no name",
      pair: "bad-address",
      leaf: { names: [{ kind: "ip", value: "127.0.0.1" }] },
      why: /must carry the node's id node-x as a DNS name .* only addresses IP:127\.0\.0\.1/,
    },
    {
      name: "an operator's",
      pair: "bad-role",
      leaf: { organization: "llmgw:admins" },
      why: /it carries the admin role: it is an operator's certificate/,
    },
  ])("$name", async ({ pair, leaf, why }) => {
    await site.forge(pair, leaf);
    const agent = await site.agent("node-x", pair);
    await says(agent, new RegExp(`refuses this node: .*${why.source}.*next try in 2s`));
    await site.serverSays(new RegExp(why.source.split("; this machine")[0] ?? ""));
    expect(agent.child.exitCode).toBeNull();
    expect(await agent.end()).toBe(0);
  });

  test("another authority's, until its authority is trusted too: B155 without a restart", async () => {
    const { texts, authority } = await newAuthority();
    await site.forge("bad-foreign", {}, authority);
    const agent = await site.agent("node-x", "bad-foreign");
    await says(agent, /it is not of an authority that this control plane trusts: it was issued by CN=llmgw authority/);
    const bundle = join(site.certs, "ca.pem");
    const ours = await readFile(bundle, "utf8");

    await writeFile(bundle, "broken");
    await site.serverSays(/new certificates cannot be used, the ones before stay in force:.*ca\.pem is no PEM text/);
    await writeFile(bundle, `${ours}${texts.certificate}`);
    await says(agent, /connected to/);
    expect(await agent.end()).toBe(0);

    await writeFile(bundle, ours);
    await until("the old authority to be gone", () => readFile(bundle, "utf8").then((text) => text === ours));
    site.hangup();
    const again = await site.agent("node-x", "bad-foreign");
    await says(again, /it is not of an authority that this control plane trusts/);
    expect(await again.end()).toBe(0);
  });

  test("revoked while connected", async () => {
    const agent = await site.agent("node-d");
    await says(agent, /connected to/);
    await site.cert("revoke", "node-d");
    await says(agent, /refuses this node: the certificate of node-d was revoked/);
    await says(agent, /the certificate of node-d \(serial [0-9A-F]+\) is refused: it was revoked/);
    expect(await agent.end()).toBe(0);
  });

  test("the good ones stayed connected all the time", async () => {
    expect(good.map(connections)).toEqual([1, 1, 1]);
    const nodes = await site.nodes();
    expect(nodes.filter(({ state }) => state === "ready").map(({ id }) => id)).toEqual(
      expect.arrayContaining([...GOOD]),
    );
    expect(nodes.map(({ id }) => id)).not.toContain("node-X");
  });
});

test("B156 a renewed certificate is used by one planned reconnect", async () => {
  const [agent] = good;
  if (agent === undefined) throw new Error("no agent");
  await site.cert("issue-client", "node-a", "--force");
  const folder = join(site.dir, "agent-node-a-node-a");
  for (const [from, to] of [
    ["node-a-key.pem", "node-key.pem"],
    ["node-a.pem", "node.pem"],
  ] as const) {
    await copyFile(join(site.certs, from), join(folder, `${to}.new`));
    await rename(join(folder, `${to}.new`), join(folder, to));
  }
  await until("a second connection", () => connections(agent) === 2);
  expect(agent.output()).not.toMatch(/was lost|cannot be reached/);
  expect((await site.nodes()).find(({ id }) => id === "node-a")?.state).toBe("ready");
});

test("B156 a certificate with less than a third of its life left is renewed over the agent's own stream", async () => {
  await site.forge("node-e", {
    commonName: "node-e",
    names: [
      { kind: "dns", value: "node-e" },
      { kind: "ip", value: "192.0.2.5" },
    ],
    notBefore: millis(Date.now() - 9 * DAY),
    lifetime: millis(DAY),
  });
  const agent = await site.agent("node-e");
  const file = join(site.dir, "agent-node-e-node-e", "node.pem");
  const before = new X509Certificate(await readFile(file));
  await says(agent, /the certificate was renewed: the one before ends at/);
  const after = new X509Certificate(await readFile(file));
  expect(after.publicKey.equals(before.publicKey)).toBe(true);
  expect([after.subject, after.subjectAltName]).toEqual([before.subject, before.subjectAltName]);
  expect(after.validToDate.getTime() - Date.now()).toBeGreaterThan(9 * DAY);
  await until("a second connection", () => connections(agent) === 2);
  expect(agent.output()).not.toMatch(/was lost|cannot be reached|refuses/);

  await site.cert("revoke", "node-e");
  await says(agent, /refuses this node: the certificate of node-e was revoked/);
  expect(await agent.end()).toBe(0);
});

test("B158 a name with a final dot and capitals is the certificate's name", async () => {
  await site.forge("node-f-dotted", { commonName: "node-f", names: [{ kind: "dns", value: "node-f" }] });
  const folder = await site.agentFiles("dotted", "node-f", "node-f-dotted");
  const yaml = (await readFile(join(folder, "agent.yaml"), "utf8")).replace(
    "https://127.0.0.1:",
    "https://LocalHost.:",
  );
  await writeFile(join(folder, "agent.yaml"), yaml);
  const agent = llmgw(["agent", "-c", join(folder, "agent.yaml"), "--data-dir", folder]);
  await says(agent, /connected to https:\/\/localhost:/);
  expect(await agent.end()).toBe(0);
});

describe("the admin API", () => {
  test("takes a certificate with the admin role for the token, and no other", async () => {
    await site.cert("issue-client", "alice", "--role", "admin");
    expect(await site.admin("GetStatus", { pair: "alice" })).toMatch(/^200 /);
    expect(await site.admin("GetStatus")).toMatch(/^401 .*token is missing/);
    expect(await site.admin("GetStatus", { pair: "node-b" })).toMatch(/^401 .*it carries no role, so it may be a node/);
    await site.cert("revoke", "alice");
    await until("the revocation", async () => (await site.admin("GetStatus", { pair: "alice" })).startsWith("401"));
  });
});

test("ctl shows an operator's certificate, and says in words why it cannot connect", async () => {
  await site.cert("issue-client", "bob", "--role", "admin");
  const [cert, key, ca] = ["bob.pem", "bob-key.pem", "ca.pem"].map((file) => join(site.certs, file));
  const ctl = (...args: readonly string[]) =>
    finished(["ctl", "--server", `https://127.0.0.1:${String(site.port)}`, ...args], {
      env: { XDG_CONFIG_HOME: site.dir, LLMGW_TOKEN: "", LLMGW_SERVER: "", LLMGW_CA: "" },
    });
  const nodes = await ctl("--ca", ca ?? "", "--cert", cert ?? "", "--key", key ?? "", "nodes", "-o", "name");
  expect(nodes).toMatchObject({ code: 0, stdout: expect.stringContaining("node/node-b") as string });
  const foreign = await ctl("nodes");
  expect(foreign).toMatchObject({ code: 1, stderr: expect.stringMatching(/is not of an authority/) as string });
  const half = await ctl("--cert", cert ?? "", "nodes");
  expect(half).toMatchObject({ code: 2, stderr: expect.stringMatching(/--cert and --key go together/) as string });
  const swapped = await ctl("--cert", key ?? "", "--key", cert ?? "", "nodes");
  expect(swapped.code).toBe(2);
  expect(swapped.stderr).toMatch(/--cert: .*swapped\?\n--key: .*swapped\?/);
});

describe.runIf(opensslVersion)("openssl s_client", () => {
  test.each([{ version: "-tls1_3" }, { version: "-tls1_2" }])("verifies the server with $version", ({ version }) => {
    const [cert, key] = ["node-b.pem", "node-b-key.pem"].map((file) => join(site.certs, file));
    const target = ["-connect", `127.0.0.1:${String(site.port)}`, "-verify_ip", "127.0.0.1", "-verify_return_error"];
    const own = ["-cert", cert ?? "", "-key", key ?? "", "-CAfile", join(site.certs, "ca.pem")];
    const said = openssl(["s_client", version, "-alpn", "h2", ...target, ...own], site.dir);
    expect(said).toMatch(/Verify return code: 0 \(ok\)|Verification: OK/);
    expect(said).toMatch(/ALPN protocol: h2/);
    expect(said).toMatch(/Acceptable client certificate CA names\n.*CN = llmgw authority/);
  });

  test("a TLS version of the past is not spoken", () => {
    const target = ["-connect", `127.0.0.1:${String(site.port)}`, "-cipher", "DEFAULT:@SECLEVEL=0"];
    expect(() => openssl(["s_client", "-tls1_1", ...target], site.dir)).toThrow();
  });

  test("a node's certificate that it made is taken", async () => {
    const [cert, key] = ["node-o.pem", "node-o-key.pem"].map((file) => join(site.certs, file));
    await writeFile(join(site.dir, "ext"), "subjectAltName=DNS:node-o\nextendedKeyUsage=clientAuth\n");
    const made = [
      "req",
      "-new",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      key ?? "",
    ];
    openssl([...made, "-subj", "/CN=node-o", "-out", "request"], site.dir);
    const signer = ["-CA", join(site.certs, "ca.pem"), "-CAkey", join(site.certs, "ca-key.pem"), "-CAcreateserial"];
    openssl(
      ["x509", "-req", "-in", "request", ...signer, "-days", "2", "-extfile", "ext", "-out", cert ?? ""],
      site.dir,
    );
    const agent = await site.agent("node-o");
    await says(agent, /connected to/);
    expect(await agent.end()).toBe(0);
  });
});

describe("files that cannot be used end the process at its start, with exit code 2 and every reason", () => {
  const encrypted = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  });

  test.each<{ readonly name: string; readonly spoil: (folder: string) => Promise<void>; readonly why: RegExp }>([
    {
      name: "swapped",
      spoil: async (folder) => {
        await rename(join(folder, "node.pem"), join(folder, "x"));
        await rename(join(folder, "node-key.pem"), join(folder, "node.pem"));
        await rename(join(folder, "x"), join(folder, "node-key.pem"));
        await chmod(join(folder, "node-key.pem"), 0o600);
      },
      why: /tls\.cert: .* are cert and key swapped\?[\s\S]*tls\.key: .* are cert and key swapped\?/,
    },
    {
      name: "readable by others",
      spoil: (folder) => chmod(join(folder, "node-key.pem"), 0o644),
      why: /tls\.key: .*node-key\.pem may be read by others \(mode 644\): run `chmod 600/,
    },
    {
      name: "an encrypted key, and no authority",
      spoil: async (folder) => {
        await writeFile(join(folder, "node-key.pem"), encrypted);
        await rename(join(folder, "ca.pem"), join(folder, "gone"));
      },
      why: /tls\.ca: there is no file[\s\S]*tls\.key: .*encrypted with a passphrase/,
    },
    {
      name: "an empty key",
      spoil: (folder) => writeFile(join(folder, "node-key.pem"), ""),
      why: /tls\.key: .*node-key\.pem is empty/,
    },
    {
      name: "another's key",
      spoil: (folder) => copyFile(join(site.certs, "node-b-key.pem"), join(folder, "node-key.pem")),
      why: /tls\.key: .*node-key\.pem does not belong to the certificate in .*node\.pem/,
    },
  ])("agent: $name", async ({ name, spoil, why }) => {
    const folder = await site.agentFiles(`spoilt-${name.replaceAll(/\W/g, "-")}`, "node-c", "node-c");
    await spoil(folder);
    const { code, stderr } = await finished(["agent", "-c", join(folder, "agent.yaml"), "--data-dir", folder]);
    expect(stderr).toMatch(why);
    expect(code).toBe(2);
  });

  test("server: a node's certificate", async () => {
    const yaml = site
      .serverYaml()
      .replace("127.0.0.1.pem", "node-b.pem")
      .replace("127.0.0.1-key.pem", "node-b-key.pem");
    await writeFile(join(site.dir, "bad.yaml"), yaml);
    const args = ["server", "-c", join(site.dir, "bad.yaml"), "--data-dir", join(site.dir, "bad-server")];
    const { code, stderr } = await finished(args);
    expect(stderr).toMatch(/tls\.cert: .*node-b\.pem is no certificate for servers .*issue-server/);
    expect(code).toBe(2);
  });

  test("server: a key that is not there and a certificate that is a key", async () => {
    const yaml = site.serverYaml().replace("127.0.0.1.pem", "node-b-key.pem").replace("127.0.0.1-key.pem", "none.pem");
    await writeFile(join(site.dir, "bad.yaml"), yaml);
    const args = ["server", "-c", join(site.dir, "bad.yaml"), "--data-dir", join(site.dir, "bad-server")];
    const { code, stderr } = await finished(args);
    expect(stderr).toMatch(/tls\.cert: .*swapped\?\n.*tls\.key: there is no file .*none\.pem/);
    expect(code).toBe(2);
  });
});

describe("a server whose certificate is another authority's", () => {
  test("is named by the agent in words", async () => {
    const { texts } = await newAuthority();
    const folder = await site.agentFiles("distrusting", "node-y", "node-c");
    await writeFile(join(folder, "ca.pem"), texts.certificate);
    const agent = llmgw(["agent", "-c", join(folder, "agent.yaml"), "--data-dir", folder]);
    await says(
      agent,
      /cannot be reached: its certificate is not of an authority that this machine trusts: is tls\.ca \(or --ca\)/,
    );
    expect(await agent.end()).toBe(0);
  });

  test.runIf(opensslVersion)("says so itself, when the client's TLS library tells it", async () => {
    const { texts } = await newAuthority();
    await writeFile(join(site.dir, "other.pem"), texts.certificate);
    const target = ["-connect", `127.0.0.1:${String(site.port)}`, "-CAfile", "other.pem", "-verify_return_error"];
    expect(() => openssl(["s_client", ...target], site.dir)).toThrow();
    await site.serverSays(/the client at 127\.0\.0\.1 does not trust this server's certificate/);
  });
});
