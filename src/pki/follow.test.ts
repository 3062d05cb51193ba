import { chmod, mkdtemp, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DAY, issuing, type Issuing } from "../../test/fakes/issuing.ts";
import { millis } from "../core/ids.ts";
import { systemClock } from "../platform/clock.ts";
import { silentLogger } from "../platform/logger.ts";
import { FollowedTls } from "./follow.ts";
import { signRevocations } from "./make.ts";

const now = millis(Date.now());
let dir = "";
let ours: Issuing;
let followed: FollowedTls;
let logged: string[] = [];
let changes = 0;

const put = (name: string, text: string): Promise<void> => writeFile(join(dir, name), text, { mode: 0o600 });
const list = (serials: readonly string[]): Promise<string> =>
  signRevocations(ours.authority, { revocations: serials.map((serial) => ({ serial, at: now })), now });

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-follow-"));
  ours = await issuing(now);
  const { certificate, key } = await ours.leaf("cp.example", { usage: "server" });
  await Promise.all([put("ca", ours.texts.certificate), put("cert", certificate), put("key", key)]);
  logged = [];
  changes = 0;
  const keep = (words: string) => void logged.push(words);
  const logger = Object.assign(Object.create(silentLogger) as typeof silentLogger, {
    info: keep,
    warn: keep,
    error: keep,
  });
  const files = { ca: join(dir, "ca"), cert: join(dir, "cert"), key: join(dir, "key"), crl: join(dir, "crl") };
  const opened = await FollowedTls.open({ files, where: "tls", clock: systemClock, logger });
  if (!opened.ok) throw new Error(opened.error.join("\n"));
  followed = opened.value;
  followed.onChange(() => {
    changes += 1;
  });
});

afterEach(async () => {
  followed.close();
  await rm(dir, { recursive: true });
});

test("a list that appears is read by itself, and one that goes does not let anybody in again", async () => {
  expect(followed.current.revoked.size).toBe(0);
  await put("crl", await list(["0A", "0B"]));
  await expect.poll(() => followed.current.revoked.size, { timeout: 10_000 }).toBe(2);
  expect(changes).toBe(1);
  await unlink(join(dir, "crl"));
  await followed.reload();
  expect(logged.at(-1)).toMatch(/tls\.crl: .*crl is gone; what it revoked stays revoked/);
  expect(followed.current.revoked.size).toBe(2);
  expect(changes).toBe(1);
});

test.each<{ readonly name: string; readonly spoil: () => Promise<unknown>; readonly why: RegExp }>([
  { name: "a broken authority", spoil: () => put("ca", "broken"), why: /tls\.ca: .*ca is no PEM text/ },
  { name: "a half-written certificate", spoil: () => put("cert", followed.current.cert.slice(0, 99)), why: /cut off/ },
  {
    name: "a certificate whose key is not there yet",
    spoil: async () => put("cert", (await ours.leaf("cp.example", { usage: "server" })).certificate),
    why: /tls\.key: .*key does not belong to the certificate/,
  },
  {
    name: "a key that others may read",
    spoil: () => chmod(join(dir, "key"), 0o640),
    why: /may be read by others \(mode 640\)/,
  },
  {
    name: "a list of a stranger",
    spoil: async () => put("crl", await strangersList()),
    why: /no trusted authority has signed/,
  },
  { name: "a list that is no list", spoil: () => put("crl", "x"), why: /tls\.crl: .*holds no list/ },
])("B155 $name changes nothing, and is told", async ({ spoil, why }) => {
  const before = followed.current;
  await spoil();
  await followed.reload();
  expect(logged.at(-1)).toMatch(/the ones before stay in force/);
  expect(logged.at(-1)).toMatch(why);
  expect(followed.current).toBe(before);
  expect(changes).toBe(0);
});

async function strangersList(): Promise<string> {
  const stranger = await issuing(now);
  return signRevocations(stranger.authority, { revocations: [{ serial: "0A", at: now }], now });
}

test("B155 the authorities of a bundle are in force together", async () => {
  const other = await issuing(now);
  await put("ca", `${ours.texts.certificate}${other.texts.certificate}`);
  await followed.reload();
  expect(followed.current.authorities).toHaveLength(2);
  expect(logged).toEqual(["tls: what is new is in force: ca"]);
});

test("a certificate that is over, or not valid yet, is used and warned of", async () => {
  for (const [changed, words] of [
    [{ now: millis(now - 900 * DAY) }, /of cp\.example expired at .* this machine's clock says/],
    [{ notBefore: millis(now + 2 * DAY) }, /of cp\.example is not valid before .*: is the clock right/],
  ] as const) {
    const { certificate, key } = await ours.leaf("cp.example", { usage: "server", ...changed });
    await Promise.all([put("cert", certificate), put("key", key)]);
    await followed.reload();
    expect(logged.at(-1)).toMatch(words);
    expect(followed.current.cert).toBe(certificate);
  }
});
