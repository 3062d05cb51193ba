import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DAY, issuing, type Issuing, NOW } from "../../test/fakes/issuing.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import { silentLogger } from "../platform/logger.ts";
import { readTlsFiles, type TlsTexts } from "../pki/material.ts";
import { renewNode } from "../pki/renewal.ts";
import { CertificateRenewal } from "./certificate-renewal.ts";

let dir = "";
let ours: Issuing;
let current: TlsTexts;
let logged: string[];
let asked: number;
let isConnected: boolean;

/** Stands still until it is moved; every look happens then. */
class StepClock implements Clock {
  at: number = NOW;
  #callbacks: (() => void)[] = [];
  now = (): Millis => millis(this.at);
  monotonic = (): Millis => millis(this.at);
  after = (_: Millis, callback: () => void): (() => void) => {
    this.#callbacks.push(callback);
    return () => {
      this.#callbacks = this.#callbacks.filter((each) => each !== callback);
    };
  };
  moveTo(at: number): void {
    this.at = at;
    const due = this.#callbacks;
    this.#callbacks = [];
    for (const callback of due) callback();
  }
}

function start(): { readonly clock: StepClock; readonly renewal: CertificateRenewal } {
  const keep = (words: string) => void logged.push(words);
  const logger = Object.assign(Object.create(silentLogger) as typeof silentLogger, {
    info: keep,
    warn: keep,
    error: keep,
  });
  const clock = new StepClock();
  const ask = (): boolean => {
    if (isConnected) asked += 1;
    return isConnected;
  };
  const tls = {
    get current() {
      return current;
    },
  };
  return { clock, renewal: new CertificateRenewal({ tls, path: join(dir, "node.pem"), ask, clock, logger }) };
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-renewal-"));
  [logged, asked, isConnected] = [[], 0, true];
  ours = await issuing();
  await writeFile(join(dir, "ca.pem"), ours.texts.certificate);
  await writeFile(join(dir, "ca-key.pem"), ours.texts.key, { mode: 0o600 });
  const { certificate, key } = await ours.leaf("Node-A", { notBefore: NOW, lifetime: millis(30 * DAY) });
  await writeFile(join(dir, "node.pem"), certificate);
  await writeFile(join(dir, "node-key.pem"), key, { mode: 0o600 });
  const read = await readTlsFiles({ cert: join(dir, "node.pem"), key: join(dir, "node-key.pem") }, "tls.");
  if (!read.ok) throw new Error(read.error.join("\n"));
  current = read.value;
});

afterEach(async () => {
  await rm(dir, { recursive: true });
});

describe("a renewal", () => {
  test("is asked for when a third of the life is left, and then not again for an hour", () => {
    const { clock } = start();
    clock.moveTo(NOW + 20 * DAY - 1);
    expect(asked).toBe(0);
    clock.moveTo(NOW + 20 * DAY);
    expect(asked).toBe(1);
    clock.moveTo(NOW + 20 * DAY + 1000);
    expect(asked).toBe(1);
    clock.moveTo(NOW + 20 * DAY + 3_600_000);
    expect(asked).toBe(2);
  });

  test("waits for a connection", () => {
    isConnected = false;
    const { clock } = start();
    clock.moveTo(NOW + 21 * DAY);
    isConnected = true;
    clock.moveTo(NOW + 21 * DAY + 1000);
    expect(asked).toBe(1);
  });

  test("writes the new certificate for the same key, and what stood after the old one stays", async () => {
    current = { ...current, cert: `${current.cert}${ours.texts.certificate}` };
    const { renewal } = start();
    const pem = await renewNode(current.certificate, { dir, now: millis(NOW + 20 * DAY) });
    await renewal.answered(pem, "");
    expect(logged).toEqual([expect.stringMatching(/was renewed: the one before ends at 2026-12-30/)]);
    const text = await readFile(join(dir, "node.pem"), "utf8");
    expect(text.replaceAll("\n", "")).toBe(`${pem}${ours.texts.certificate}`.replaceAll("\n", ""));
    const both = await readTlsFiles({ cert: join(dir, "node.pem"), key: join(dir, "node-key.pem") }, "tls.");
    expect(both.ok && both.value.certificate.subjectAltName).toBe("DNS:Node-A");
    expect(await readFile(join(dir, "issued.json"), "utf8")).toContain('"Node-A"');
  });

  test("takes no certificate that is another's, ends no later, or is none", async () => {
    const { renewal } = start();
    const before = await readFile(join(dir, "node.pem"), "utf8");
    const stranger = await ours.leaf("Node-A", { now: millis(NOW + 20 * DAY) });
    for (const pem of [stranger.certificate, current.cert, ours.texts.certificate, "x", ""]) {
      await renewal.answered(pem, "");
      expect(logged.at(-1)).toMatch(/not this node's; the one before stays/);
    }
    expect(await readFile(join(dir, "node.pem"), "utf8")).toBe(before);
  });

  test("that is refused is told with the day on which the certificate ends", async () => {
    const { renewal } = start();
    await renewal.answered("", "it does not hold the authority's key");
    expect(logged).toEqual([
      "the certificate ends at 2026-12-30 12:00:00 UTC, and the control plane does not renew it: it does not hold the authority's key",
    ]);
  });
});
