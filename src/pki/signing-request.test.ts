import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NOW } from "../../test/fakes/issuing.ts";
import { openssl, opensslVersion } from "../../test/fakes/openssl.ts";
import { initAuthority, listIssued, revoke } from "./commands.ts";
import { canSign, enrolNode } from "./enrol-node.ts";
import { newPrivateKey, readSigningRequest, signingRequest } from "./signing-request.ts";

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-request-"));
  await initAuthority({ dir, days: 100, force: false, now: NOW });
});
afterAll(async () => {
  await rm(dir, { recursive: true });
});

const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" });

describe("a signing request", () => {
  test.each([
    { name: "P-256", key: newPrivateKey },
    { name: "P-384", key: () => pem(generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey) },
    { name: "RSA", key: () => pem(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey) },
    { name: "Ed25519", key: () => pem(generateKeyPairSync("ed25519").privateKey) },
  ])("of a key of ours is signed and read: $name", async ({ key }) => {
    const own = await key();
    const read = await readSigningRequest(await signingRequest("node-a", own), "node-a");
    expect(read).toMatchObject({ ok: true, value: { hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string } });
  });

  test.each([
    { name: "empty", request: () => "", says: /no signing request was sent/ },
    { name: "something else", request: () => "-----BEGIN X-----\nAA\n-----END X-----", says: /no signing request/ },
    { name: "for another", request: async () => signingRequest("node-b", await newPrivateKey()), says: /names node-b/ },
    {
      name: "changed on its way",
      request: async () => {
        const good = await signingRequest("node-a", await newPrivateKey());
        const der = Buffer.from(good.replace(/-----.*-----/g, ""), "base64");
        der.writeUInt8(der.readUInt8(der.length - 5) ^ 1, der.length - 5);
        return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----`;
      },
      says: /is not signed by its own key|cannot be read/,
    },
  ])("is refused in words: $name", async ({ request, says }) => {
    const read = await readSigningRequest(await request(), "node-a");
    expect(read.ok ? "taken" : read.error).toMatch(says);
  });

  test("of any bytes is read without a throw", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const text = `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(bytes).toString("base64")}\n-----END CERTIFICATE REQUEST-----`;
        expect((await readSigningRequest(text, "node-a")).ok).toBe(false);
      }),
    );
  });

  test.skipIf(opensslVersion === undefined)("of openssl's is taken, and one of a weak key is not", async () => {
    const make = (bits: string): Promise<unknown> => {
      const key = ["-newkey", `rsa:${bits}`, "-nodes", "-keyout", "k.pem"];
      openssl(["req", "-new", ...key, "-subj", "/CN=node-a", "-out", "r.pem"], dir);
      return readSigningRequest(openssl(["req", "-in", "r.pem"], dir), "node-a");
    };
    expect(await make("2048")).toMatchObject({ ok: true });
    expect(await make("1024")).toMatchObject({ ok: false, error: expect.stringMatching(/1024 bits/) as string });
  });
});

describe("a node that is enrolled", () => {
  test("has a certificate like one that was issued by hand, listed and revocable", async () => {
    expect(await canSign(dir)).toMatchObject({ ok: true });
    const key = await newPrivateKey();
    const certificate = new X509Certificate(
      await enrolNode("Node-A", await signingRequest("Node-A", key), { dir, now: NOW }),
    );
    expect(certificate).toMatchObject({ subject: "O=llmgw:nodes\nCN=Node-A", subjectAltName: "DNS:Node-A" });
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(await listIssued(dir)).toMatchObject([{ name: "Node-A", role: "node", revokedAt: undefined }]);
    expect(await revoke("Node-A", { dir, now: NOW })).toHaveLength(1);
  });

  test("without an authority nobody is", async () => {
    const able = await canSign(join(dir, "none"));
    expect(able.ok ? "able" : able.error).toMatch(/There is no authority in/);
  });
});
