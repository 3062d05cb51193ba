import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { systemClock } from "../clock.ts";
import { createDownloader } from "./download.ts";
import { trustedCertificates } from "./trust.ts";

test("Node's own and the system's authorities are trusted, each once", () => {
  const certificates = trustedCertificates({});
  expect(certificates.length).toBeGreaterThan(100);
  expect(new Set(certificates).size).toBe(certificates.length);
});

test("variables that name nothing readable do no harm", () => {
  const env = { SSL_CERT_FILE: "/does/not/exist", SSL_CERT_DIR: "/nor/this:/tmp", PIP_CERT: "/" };
  expect(trustedCertificates(env).length).toBeGreaterThan(100);
});

test("a company's authority is trusted where the environment names it, and nowhere else", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-trust-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const make = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2"];
  try {
    const failed = await promisify(execFile)("openssl", [
      ...make,
      "-subj",
      "/CN=x",
      "-addext",
      "subjectAltName=IP:127.0.0.1",
    ])
      .then(() => undefined)
      .catch((error: unknown) => String(error));
    if (failed !== undefined) t.skip(`a certificate cannot be made here: ${failed}`);
    const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (_request, response) => {
      response.end("hello");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `https://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
    const retry = { tries: 1, firstDelay: millis(1), maxDelay: millis(1) };
    const [trusting, other] = [{ SSL_CERT_FILE: cert }, {}].map((env) =>
      createDownloader({ env, clock: systemClock, retry }),
    );
    expect(await trusting?.text({ url })).toMatchObject({ ok: true, value: { body: "hello" } });
    expect(await other?.text({ url })).toMatchObject({ ok: false, error: { kind: "network" } });
    await trusting?.close();
    await other?.close();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  } finally {
    await rm(folder, { recursive: true });
  }
});
