import { beforeAll, expect, test } from "vitest";
import { DAY, issuing, type Issuing, NOW } from "../../test/fakes/issuing.ts";
import { millis, nodeId } from "../core/ids.ts";
import { keyHash } from "../pki/certificate.ts";
import { revocationKey } from "../pki/roles.ts";
import { Door, EXPIRED_GRACE } from "./door.ts";
import type { Peer } from "./peer.ts";

let ours: Issuing;

beforeAll(async () => {
  ours = await issuing();
});

const NODE = nodeId("node-a");
const at = { now: NOW };
const clock = { now: () => at.now, monotonic: () => at.now, after: () => () => undefined };

async function admitted() {
  at.now = NOW;
  const { parsed } = await ours.leaf("node-a", { lifetime: millis(DAY) });
  const trust = { authorities: [ours.certificate], revoked: new Set<string>() };
  const door = new Door(clock, trust, () => Promise.resolve(""));
  const peer = { kind: "tls", certificates: [parsed], problem: undefined } as const;
  return { door, peer, parsed, trust, admission: door.admitNode(peer, NODE) };
}

test("B156 an open stream outlives its certificate by the grace and no longer; a new one does not begin", async () => {
  const { door, peer, admission } = await admitted();
  at.now = millis(NOW + DAY + EXPIRED_GRACE);
  expect(admission.refusal()).toBeUndefined();
  expect(() => door.admitNode(peer, NODE)).toThrow(/expired at 2026-12-01 12:00:00 UTC/);
  at.now = millis(NOW + DAY + EXPIRED_GRACE + 1);
  expect(admission.refusal()?.rawMessage).toMatch(
    /of node-a expired at 2026-12-01 12:00:00 UTC while the stream was open, .* clock says 2026-12-01 12:01:00 UTC/,
  );
});

test("an open stream ends with a list that names it, and not because its authority is trusted no more", async () => {
  const { door, peer, parsed, trust, admission } = await admitted();
  door.renew({ authorities: [], revoked: new Set() });
  expect(admission.refusal()).toBeUndefined();
  expect(() => door.admitNode(peer, NODE)).toThrow(/not of an authority/);
  door.renew({ ...trust, revoked: new Set([revocationKey(keyHash(ours.certificate), parsed.serialNumber)]) });
  expect(admission.refusal()?.rawMessage).toBe("the certificate of node-a was revoked");
});

test("what the TLS library refuses is refused, although nothing is wrong that we look at", async () => {
  const { door, peer } = await admitted();
  expect(() => door.admitNode({ ...peer, problem: "PERMITTED_VIOLATION" }, NODE)).toThrow(
    /refused by the TLS library: PERMITTED_VIOLATION/,
  );
});

test.each<{ readonly peer: Peer }>([
  { peer: { kind: "local" } },
  { peer: { kind: "plain" } },
  { peer: { kind: "tls", certificates: [], problem: undefined } },
])("without a certificate nobody comes in: $peer.kind", async ({ peer }) => {
  const { door } = await admitted();
  expect(() => door.admitNode(peer, NODE)).toThrow(/none was shown: set tls: in agent\.yaml/);
  expect(() => {
    door.roleOf(peer);
  }).toThrow(/none was shown/);
});
