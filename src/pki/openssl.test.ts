import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY } from "../../test/fakes/issuing.ts";
import { openssl, opensslVersion } from "../../test/fakes/openssl.ts";
import { millis } from "../core/ids.ts";
import { initAuthority, issueClient, issueServer, revoke } from "./commands.ts";
import { judgeNode } from "./judge.ts";
import { openAuthority, issue } from "./make.ts";
import { readAuthorities } from "./pem.ts";
import { readRevocations } from "./revocations.ts";

/** openssl looks at its own clock. */
const now = millis(Date.now());
let dir = "";
const text = (file: string): string => openssl(["x509", "-in", file, "-noout", "-text"], dir);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-pki-"));
  const making = { dir, days: 30, force: false, now };
  await initAuthority({ ...making, days: 3650 });
  await issueServer(["192.0.2.10", "::1", "cp.example", "*.cp.example", "cp.example."], making);
  await issueClient({ id: "node-a", role: "node" }, making);
  await issueClient({ id: "alice", role: "admin" }, making);
});

afterAll(async () => {
  await rm(dir, { recursive: true });
});

describe.runIf(opensslVersion)("openssl agrees", () => {
  test("that the authority is one, for leaves alone", () => {
    expect(text("ca.pem")).toMatch(/CA:TRUE, pathlen:0/);
    expect(text("ca.pem")).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign/);
    expect(text("ca.pem")).toMatch(/NIST CURVE: P-256/);
  });

  test.each([
    { file: "192.0.2.10.pem", purpose: "sslserver" },
    { file: "node-a.pem", purpose: "sslclient" },
    { file: "alice.pem", purpose: "sslclient" },
  ])("that $file is good for $purpose and for nothing else", ({ file, purpose }) => {
    const verify = (as: string): string =>
      openssl(["verify", "-x509_strict", "-CAfile", "ca.pem", "-purpose", as, file], dir);
    expect(verify(purpose)).toBe(`${file}: OK\n`);
    expect(() => verify(purpose === "sslserver" ? "sslclient" : "sslserver")).toThrow(/unsuitable certificate purpose/);
  });

  test("B153 about the names: addresses are no DNS names", () => {
    const [, names = ""] = /Subject Alternative Name: \n\s+(.*)/.exec(text("192.0.2.10.pem")) ?? [];
    expect(names.split(", ")).toEqual([
      "IP Address:192.0.2.10",
      "IP Address:0:0:0:0:0:0:0:1",
      "DNS:cp.example",
      "DNS:*.cp.example",
      "DNS:localhost",
      "IP Address:127.0.0.1",
    ]);
  });

  test("that keys and certificates belong together", () => {
    for (const name of ["ca", "node-a"]) {
      const ofKey = openssl(["pkey", "-in", `${name}-key.pem`, "-pubout"], dir);
      expect(openssl(["x509", "-in", `${name}.pem`, "-noout", "-pubkey"], dir)).toBe(ofKey);
    }
  });

  test("about what is revoked", async () => {
    const check = (file: string): string =>
      openssl(["verify", "-crl_check", "-CRLfile", "crl.pem", "-CAfile", "ca.pem", file], dir);
    expect(check("alice.pem")).toBe("alice.pem: OK\n");
    await revoke("alice", { dir, now });
    expect(() => check("alice.pem")).toThrow(/certificate revoked/);
    expect(check("node-a.pem")).toBe("node-a.pem: OK\n");
    const list = openssl(["crl", "-in", "crl.pem", "-noout", "-text"], dir);
    expect(list).toMatch(/X509v3 CRL Number/);
    expect(list).toContain(new X509Certificate(await readFile(join(dir, "alice.pem"))).serialNumber);
  });
});

describe.runIf(opensslVersion)("what openssl makes is taken", () => {
  const sign = async (name: string, extensions: string, ca = "ca"): Promise<X509Certificate> => {
    await writeFile(join(dir, "ext"), extensions);
    const request = ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", `${name}-key.pem`, "-out", "request"];
    openssl([...request, "-subj", `/CN=${name}`], dir);
    const signer = ["-CA", `${ca}.pem`, "-CAkey", `${ca}-key.pem`, "-CAcreateserial", "-days", "5"];
    openssl(["x509", "-req", "-in", "request", ...signer, "-extfile", "ext", "-out", `${name}.pem`], dir);
    return new X509Certificate(await readFile(join(dir, `${name}.pem`)));
  };
  const trusting = async (file: string, revoked: ReadonlySet<string> = new Set()) => {
    const read = readAuthorities(await readFile(join(dir, file), "utf8"));
    if (!read.ok) throw new Error(read.error);
    return { authorities: read.value, revoked };
  };

  test("a node's certificate with an RSA key, signed by our authority", async () => {
    const certificate = await sign("node-r", "subjectAltName=DNS:node-r\nextendedKeyUsage=clientAuth");
    const trust = await trusting("ca.pem");
    expect(judgeNode("node-r", { certificates: [certificate], trust, now: millis(Date.now()) }).ok).toBe(true);
  });

  test("a chain over an authority in between, and a list of what that one revoked", async () => {
    openssl(
      [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "root-key.pem",
        "-out",
        "root.pem",
        "-subj",
        "/CN=root",
      ],
      dir,
    );
    const middle = await sign("middle", "basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign,cRLSign", "root");
    const leaf = await sign("node-m", "subjectAltName=DNS:node-m", "middle");
    const trust = await trusting("root.pem");
    const at = millis(Date.now());
    expect(judgeNode("node-m", { certificates: [leaf, middle], trust, now: at })).toMatchObject({ ok: true });
    expect(judgeNode("node-m", { certificates: [leaf], trust, now: at }).ok).toBe(false);

    await writeFile(join(dir, "db"), "");
    await writeFile(join(dir, "number"), "01\n");
    const config = "[ca]\ndefault_ca=d\n[d]\ndatabase=db\ncrlnumber=number\ndefault_md=sha256\ndefault_crl_days=9\n";
    await writeFile(join(dir, "config"), config);
    const by = ["-config", "config", "-keyfile", "middle-key.pem", "-cert", "middle.pem"];
    openssl(["ca", ...by, "-revoke", "node-m.pem"], dir);
    openssl(["ca", ...by, "-gencrl", "-out", "middle-crl.pem"], dir);
    const list = await readRevocations(await readFile(join(dir, "middle-crl.pem"), "utf8"), [middle]);
    const revoked = list.ok ? list.value : new Set<string>();
    const judged = judgeNode("node-m", { certificates: [leaf, middle], trust: { ...trust, revoked }, now: at });
    expect(judged.ok ? "let in" : judged.error).toMatch(/it was revoked$/);
    const unsigned = await readRevocations(await readFile(join(dir, "middle-crl.pem"), "utf8"), trust.authorities);
    expect(unsigned.ok ? "taken" : unsigned.error).toMatch(/no trusted authority has signed/);
  });

  test.each([
    { name: "EC P-384", key: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"] },
    { name: "RSA", key: ["-newkey", "rsa:2048"] },
    { name: "Ed25519", key: ["-newkey", "ed25519"] },
  ])("an authority with a key of $name signs for us", async ({ key }) => {
    const made = ["req", "-x509", ...key, "-nodes", "-keyout", "their-key.pem", "-out", "their.pem", "-days", "9"];
    openssl([...made, "-subj", "/CN=theirs, all of it"], dir);
    const texts = await Promise.all(["their.pem", "their-key.pem"].map((file) => readFile(join(dir, file), "utf8")));
    const authority = openAuthority({ certificate: texts[0] ?? "", key: texts[1] ?? "" });
    if (!authority.ok) throw new Error(authority.error);
    const leaf = { commonName: "n", names: [{ kind: "dns", value: "n" }], usage: "client" } as const;
    const issued = await issue(authority.value, { ...leaf, now: millis(Date.now()), lifetime: millis(DAY) });
    await writeFile(join(dir, "n.pem"), issued.certificate);
    expect(openssl(["verify", "-CAfile", "their.pem", "n.pem"], dir)).toBe("n.pem: OK\n");
  });
});
