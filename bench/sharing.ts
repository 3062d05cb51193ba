import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { countingOrigin } from "../test/fakes/counting-origin.ts";
import { type SharingNode, SharingSite } from "../test/fakes/sharing-site.ts";
import { request, spec } from "../test/fakes/weights-fixture.ts";

/**
 * A large file to several nodes at once, with one that comes later:
 *   npm run bench:sharing -- [--mib 1024] [--nodes 4] [--json]
 * Nodes are real folders and real ports on this machine. Target: from the source no more than 1.05 times the file.
 */
const TARGET = 1.05;

const { values } = parseArgs({
  options: {
    mib: { type: "string", default: "1024" },
    nodes: { type: "string", default: "4" },
    json: { type: "boolean", default: false },
  },
});

const data = Buffer.allocUnsafe(Number(values.mib) * 1024 * 1024);
for (let at = 0; at < data.length; at += 8) data.writeDoubleLE(Math.sin(at), at);
const sha256 = createHash("sha256").update(data).digest("hex");

async function hashOn(node: SharingNode, source: string): Promise<string> {
  const got = await node.store.ensure(spec(source, { sha256: { "model.gguf": sha256 } }), request());
  if (!got.ok) throw new Error(got.error.message);
  const hash = createHash("sha256");
  await pipeline(createReadStream(got.value.mainPath), hash);
  return hash.digest("hex");
}

const origin = await countingOrigin(data);
const site = await SharingSite.start();
const names = Array.from({ length: Number(values.nodes) }, (_, i) => `n${String(i)}`);
const nodes = await Promise.all(names.map((name) => site.node(name)));
const start = performance.now();
const hashes = await Promise.all(nodes.map((node) => hashOn(node, origin.url)));
const seconds = (performance.now() - start) / 1000;
const fromOrigin = origin.sent / data.length;

const late = await site.node("late");
const lateStart = performance.now();
const lateHash = await hashOn(late, origin.url);
const lateSeconds = (performance.now() - lateStart) / 1000;

const isRight = [...hashes, lateHash].every((hash) => hash === sha256);
const result = {
  mib: Number(values.mib),
  nodes: nodes.length,
  seconds,
  fromOrigin,
  lateSeconds,
  fromOriginWithLate: origin.sent / data.length,
  isRight,
  ok: isRight && fromOrigin <= TARGET,
};
console.log(`${values.mib} MiB to ${values.nodes} nodes at once: ${seconds.toFixed(1)} s`);
console.log(`from the source: ${fromOrigin.toFixed(3)} times the file (target: ${String(TARGET)} at most)`);
console.log(`one more node, from those that have it: ${lateSeconds.toFixed(1)} s`);
console.log(isRight ? "every file is right" : "A FILE IS WRONG");
if (values.json) console.log(JSON.stringify(result));
await site.stop();
await origin.close();
process.exitCode = result.ok ? 0 : 1;
