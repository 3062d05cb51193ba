import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { factsOf } from "./certificate.ts";
import { judgeNode, judgeRole } from "./judge.ts";
import { readAuthorities, readChain } from "./pem.ts";

const FIXTURES = join(import.meta.dirname, "../../test/fixtures/step-ca");
const read = (name: string): Promise<string> => readFile(join(FIXTURES, name), "utf8");

const authorities = readAuthorities(await read("root_ca.crt"));
const chain = readChain(await read("gpu-a-01.crt"));
if (!authorities.ok || !chain.ok) throw new Error("the fixtures cannot be read");
const certificates = chain.value;
const trust = { authorities: authorities.value, revoked: new Set<string>() };
const { notBefore, notAfter } = factsOf(certificates[0]);
const now = millis(notBefore + 3_600_000);

test("a node's certificate of step-ca is taken as its file has it: the leaf, and the authority in between", () => {
  expect(certificates).toHaveLength(2);
  expect(judgeNode("gpu-a-01", { certificates, trust, now })).toMatchObject({ ok: true });
});

test.each([
  { name: "for another node", id: "gpu-a-02", shown: certificates, at: now, why: /it names gpu-a-01, but the agent/ },
  {
    name: "without the authority in between",
    id: "gpu-a-01",
    shown: certificates.slice(0, 1),
    at: now,
    why: /it is not of an authority/,
  },
  // That is soon: whoever renews it elsewhere replaces the file, and it is taken without a restart.
  {
    name: "half a day later",
    id: "gpu-a-01",
    shown: certificates,
    at: millis(notAfter + 1),
    why: /it expired at .* clock says/,
  },
  {
    name: "before it begins",
    id: "gpu-a-01",
    shown: certificates,
    at: millis(notBefore - 1),
    why: /not valid before .* clock says/,
  },
])("it is refused with the reason $name", ({ id, shown, at, why }) => {
  const judged = judgeNode(id, { certificates: shown, trust, now: at });
  expect(judged).toMatchObject({ ok: false, error: expect.stringMatching(why) as unknown });
});

test("it carries no role, and orders nothing", () => {
  expect(judgeRole({ certificates, trust, now }).ok).toBe(false);
});
