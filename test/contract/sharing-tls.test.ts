import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as ask } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { millis, nodeId } from "../../src/core/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { FollowedTls } from "../../src/pki/follow.ts";
import { type CountingOrigin, countingOrigin } from "../fakes/counting-origin.ts";
import { MIB, seeded, sha256Of } from "../fakes/download-fixture.ts";
import { type Issuing, issuing } from "../fakes/issuing.ts";
import { type SharingNode, SharingSite } from "../fakes/sharing-site.ts";
import { request, spec } from "../fakes/weights-fixture.ts";

const DATA = seeded(5 * MIB);

let site: SharingSite;
let origin: CountingOrigin;
let folder: string;
let authority: Issuing;
const open: FollowedTls[] = [];

beforeEach(async () => {
  site = await SharingSite.start();
  origin = await countingOrigin(DATA);
  folder = await mkdtemp(join(tmpdir(), "llmgw-sharing-tls-"));
  authority = await issuing(millis(Date.now()));
});
afterEach(async () => {
  await site.stop();
  for (const tls of open.splice(0)) tls.close();
  await origin.close();
  await rm(folder, { recursive: true });
});

/** The files of a node whose certificate names `id`. */
async function certified(id: string, by: Issuing = authority): Promise<FollowedTls> {
  const leaf = await by.leaf(id);
  const path = (name: string): string => join(folder, `${String(open.length)}-${name}`);
  const files = { ca: path("ca.pem"), cert: path("node.pem"), key: path("node-key.pem") };
  await writeFile(files.ca, by.texts.certificate);
  await writeFile(files.cert, leaf.certificate);
  await writeFile(files.key, leaf.key, { mode: 0o600 });
  const opened = await FollowedTls.open({ files, where: "tls", clock: systemClock, logger: silentLogger });
  if (!opened.ok) throw new Error(opened.error.join("\n"));
  open.push(opened.value);
  return opened.value;
}

const fetchOn = async (node: SharingNode): Promise<boolean> =>
  (await node.store.ensure(spec(origin.url, { sha256: { "model.gguf": sha256Of(DATA) } }), request())).ok;

describe("with certificates", () => {
  test("nodes know each other by them, and fetch from each other", async () => {
    const a = await site.node("a", { tls: await certified("a") });
    expect(await fetchOn(a)).toBe(true);
    const b = await site.node("b", { tls: await certified("b") });
    expect(await fetchOn(b)).toBe(true);
    expect(b.peers.bytes).toEqual({ origin: 0, peer: DATA.length });
  });

  test("a permission is worth nothing with another node's certificate, or with one of another authority", async () => {
    const a = await site.node("a", { tls: await certified("a") });
    await fetchOn(a);
    site.desk.stop();
    const { port, held } = a.peers.report();
    const key = held[0]?.key ?? "";
    a.peers.onPlan({
      orders: [],
      permissions: [{ permission: "one", node: nodeId("b"), key, validFor: millis(60_000) }],
      suspects: [],
    });
    const knock = (tls: FollowedTls | undefined): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const { cert, key: own } = tls?.current ?? {};
        const call = ask(
          {
            ...{
              host: "127.0.0.1",
              port,
              path: "/weights/visits",
              method: "POST",
              agent: false,
              rejectUnauthorized: false,
            },
            headers: { authorization: "Bearer one", "x-llmgw-node": "b" },
            ...(cert === undefined || own === undefined ? {} : { cert, key: own }),
          },
          (answer) => {
            answer.resume().on("end", () => {
              resolve(answer.statusCode);
            });
          },
        );
        call.on("error", reject).end();
      });
    expect(await knock(await certified("c"))).toBe(403);
    expect(await knock(await certified("b", await issuing(millis(Date.now()))))).toBe(403);
    expect(await knock(undefined)).toBe(403);
    expect(await knock(await certified("b"))).toBe(200);
    expect(await knock(await certified("b"))).toBe(403);
  });

  test("nothing is fetched from a node that shows another one's certificate: the source has it", async () => {
    const a = await site.node("a", { tls: await certified("impostor") });
    await fetchOn(a);
    const b = await site.node("b", { tls: await certified("b") });
    expect(await fetchOn(b)).toBe(true);
    expect(b.peers.bytes).toEqual({ origin: DATA.length, peer: 0 });
  });
});
