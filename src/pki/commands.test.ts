import { X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DAY, NOW } from "../../test/fakes/issuing.ts";
import { factsOf } from "./certificate.ts";
import { initAuthority, issueClient, issueServer, listIssued, revoke } from "./commands.ts";
import { readRevocations } from "./revocations.ts";

let dir = "";
const making = (changes = {}) => ({ dir, days: 365, force: false, now: NOW, ...changes });
const node = (id: string, changes = {}) => issueClient({ id, role: "node" }, making(changes));
const read = (file: string): Promise<string> => readFile(join(dir, file), "utf8");
const certificate = async (file: string): Promise<X509Certificate> => new X509Certificate(await read(file));

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-cert-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true });
});

describe("files", () => {
  test("keys are their owner's alone, and nothing but what was promised is written", async () => {
    await initAuthority(making());
    await node("node-a");
    const names = ["ca-key.pem", "ca.pem", "crl.pem", "issued.json", "node-a-key.pem", "node-a.pem"];
    expect((await readdir(dir)).toSorted()).toEqual(names);
    for (const name of names.filter((each) => each.endsWith("-key.pem"))) {
      expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600);
    }
  });

  test("nothing is written over without force, and everything in the way is named", async () => {
    await initAuthority(making());
    await node("node-a");
    const before = await Promise.all((await readdir(dir)).map(read));
    await expect(initAuthority(making())).rejects.toThrow(/ca\.pem and .*ca-key\.pem are there already; --force/);
    await expect(node("node-a")).rejects.toThrow(/node-a\.pem and .*node-a-key\.pem are there already/);
    await unlink(join(dir, "node-a.pem"));
    await expect(node("node-a")).rejects.toThrow(/node-a-key\.pem is there already/);
    await writeFile(join(dir, "node-a.pem"), before[5] ?? "");
    expect(await Promise.all((await readdir(dir)).map(read))).toEqual(before);
    await node("node-a", { force: true });
    expect(await read("node-a.pem")).not.toBe(before[5]);
  });

  test("two commands at once lose nothing", async () => {
    await initAuthority(making());
    const ids = Array.from({ length: 8 }, (_, at) => `node-${String(at)}`);
    await Promise.all(ids.map((id) => node(id)));
    expect((await listIssued(dir)).map(({ name }) => name).toSorted()).toEqual(ids);
  });

  test.each([
    { name: "without an authority", spoil: () => Promise.resolve(), why: /There is no authority in .*cert init --dir/ },
    {
      name: "with an authority's key that is another's",
      spoil: async () => {
        await initAuthority(making());
        const key = await read("ca-key.pem");
        await initAuthority(making({ force: true }));
        await writeFile(join(dir, "ca-key.pem"), key);
      },
      why: /ca-key\.pem does not belong to the authority in .*ca\.pem/,
    },
    {
      name: "with both files spoilt, both are named",
      spoil: async () => {
        await writeFile(join(dir, "ca.pem"), "");
        await writeFile(join(dir, "ca-key.pem"), "x");
      },
      why: /ca\.pem is empty\n.*ca-key\.pem is no PEM text/,
    },
    {
      name: "with a list of what was issued that is torn",
      spoil: async () => {
        await initAuthority(making());
        await writeFile(join(dir, "issued.json"), '[{"name":"x"');
      },
      why: /issued\.json is no JSON/,
    },
  ])("nothing is issued $name", async ({ spoil, why }) => {
    await spoil();
    await expect(node("node-a")).rejects.toThrow(why);
    expect(await readdir(dir)).not.toContain("node-a.pem");
  });

  test.each(["", "bad name", "-x", "x.", "../x", "a/b", "x".repeat(65)])("%j is no id", async (id) => {
    await initAuthority(making());
    await expect(node(id)).rejects.toThrow(/is no id of a node|has 65 characters/);
  });

  test.each(["ca", "CA", "crl", "node-a-key"])("%s would be another's file", async (id) => {
    await initAuthority(making());
    await expect(node(id, { force: true })).rejects.toThrow(/cannot be a certificate's name/);
  });

  test("a server's files are named after its first name, which may hold what file names should not", async () => {
    await initAuthority(making());
    await issueServer(["*.cp.example"], making());
    await issueServer(["2001:db8::1"], making());
    expect(await readdir(dir)).toEqual(expect.arrayContaining(["wildcard.cp.example.pem", "2001-db8--1.pem"]));
  });
});

describe("certificates", () => {
  test("begin five minutes ago, end when they should, and never after their authority", async () => {
    await initAuthority(making({ days: 100 }));
    await node("short", { days: 7 });
    await node("long", { days: 365 });
    const short = factsOf(await certificate("short.pem"));
    expect([short.notBefore, short.notAfter]).toEqual([NOW - 300_000, NOW + 7 * DAY]);
    expect(factsOf(await certificate("long.pem")).notAfter).toBe(NOW + 100 * DAY);
  });

  test("have serial numbers that are all different, above zero and of 16 bytes", async () => {
    await initAuthority(making());
    const serials = [];
    for (let at = 0; at < 10; at++) serials.push((await node(`n${String(at)}`)).entry.serial);
    expect(new Set(serials).size).toBe(10);
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  test("of nodes carry the id as common name and as DNS name", async () => {
    await initAuthority(making());
    await node("GPU-a.01");
    const made = await certificate("GPU-a.01.pem");
    expect(made.subject.split("\n")).toContain("CN=GPU-a.01");
    expect(made.subjectAltName).toBe("DNS:GPU-a.01");
  });
});

describe("revoking", () => {
  const listed = async (): Promise<number> => {
    const list = await readRevocations(await read("crl.pem"), [await certificate("ca.pem")]);
    return list.ok ? list.value.size : -1;
  };

  test("by name means all of that name, by number the one; twice changes nothing", async () => {
    await initAuthority(making());
    const first = await node("node-a");
    await node("node-a", { force: true });
    const other = await node("node-b");
    expect(await listed()).toBe(0);
    expect(await revoke("node-a", { dir, now: NOW })).toHaveLength(2);
    expect(await revoke("node-a", { dir, now: NOW })).toEqual([]);
    expect(await revoke(first.entry.serial, { dir, now: NOW })).toEqual([]);
    const number = other.entry.serial.toLowerCase().replaceAll(/(..)(?=.)/g, "$1:");
    expect(await revoke(number, { dir, now: NOW })).toMatchObject([{ name: "node-b" }]);
    expect(await listed()).toBe(3);
    const states = (await listIssued(dir)).map(({ name, revokedAt }) => [name, revokedAt]);
    expect(states.toSorted()).toEqual([
      ["node-a", NOW],
      ["node-a", NOW],
      ["node-b", NOW],
    ]);
  });

  test("of a certificate that no list knows works by its number or its file", async () => {
    await initAuthority(making());
    await node("node-a");
    await unlink(join(dir, "issued.json"));
    expect(await revoke("node-a", { dir, now: NOW })).toMatchObject([{ name: "node-a" }]);
    expect(await revoke("00:AB:CD:EF:01:23", { dir, now: NOW })).toMatchObject([{ serial: "ABCDEF0123" }]);
    expect(await listed()).toBe(2);
  });

  test.each(["nobody", "ca", ""])("%j is no certificate's name", async (name) => {
    await initAuthority(making());
    await expect(revoke(name, { dir, now: NOW })).rejects.toThrow(/No certificate in .* has the name or serial number/);
  });
});
