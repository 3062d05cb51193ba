// npm run bench:fleet [-- --quick] [--json]
// What a fleet costs the control plane: the decisions alone, on plain values, and a real server with thousands of connected
// agents. Processor time is counted and not the clock, so that other work on the machine alters less; it still alters
// something, by what it takes from the caches. Each figure is a median, and is taken at two sizes: quote the growth.
import { parseArgs } from "node:util";
import { median } from "../test/quantile.ts";
import { textTable } from "../test/text-table.ts";
import { decisionsAt } from "./fleet-decisions.ts";
import { FleetServer } from "./fleet-server.ts";

const { values: flags } = parseArgs({
  options: { quick: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
});

const SIZES = flags.quick ? { few: 100, many: 1_000 } : { few: 500, many: 5_000 };
const ROUNDS = flags.quick ? 1 : 3;
const ROUND_MS = flags.quick ? 6_000 : 15_000;
/** What the arrival of a fleet leaves behind is tidied up, and no heartbeat waits. */
const SETTLED_AFTER_MS = flags.quick ? 3_000 : 15_000;
const MiB = 2 ** 20;

async function agentsAt(nodes: number) {
  const fleet = await FleetServer.start();
  try {
    await fleet.fill(nodes);
    await fleet.rest(SETTLED_AFTER_MS);
    const rests = [];
    for (let n = 0; n < ROUNDS; n++) rests.push(await fleet.rest(ROUND_MS));
    // Each node's free memory or disk moves by some percent once a minute.
    const news = await fleet.news(Math.ceil(nodes / 60), ROUND_MS);
    const status = await fleet.cost("GetStatus");
    const listNodes = await fleet.cost("ListNodes");
    const listReplicas = await fleet.cost("ListReplicas");
    return {
      coreShare: median(rests.map(({ coreShare }) => coreShare)),
      rssMiB: Math.max(...rests.map(({ rssBytes }) => rssBytes)) / MiB,
      coreShareWithNews: news.coreShare,
      ...{ status, listNodes, listReplicas, lost: fleet.lost },
    };
  } finally {
    await fleet.stop();
  }
}

const few = { ...decisionsAt(SIZES.few), ...(await agentsAt(SIZES.few)) };
const many = { ...decisionsAt(SIZES.many), ...(await agentsAt(SIZES.many)) };
type Figure = Exclude<keyof typeof many, "lost">;

const FIGURES: Readonly<Record<Figure, { readonly what: string; readonly target?: number }>> = {
  placementMs: { what: "one placement, ms", target: 10 },
  gangPlacementMs: { what: "one placement over 2 nodes, ms" },
  reconcileMs: { what: "a turn with nothing to do, ms", target: 300 },
  coreShare: { what: "heartbeats every 5 s, part of a core", target: 0.5 },
  rssMiB: { what: "memory of the server, MiB", target: 1024 },
  coreShareWithNews: { what: "with news of each node once a minute, part of a core" },
  status: { what: "ctl status, ms of the server" },
  listNodes: { what: "ctl nodes, ms of the server" },
  listReplicas: { what: "ctl replicas, ms of the server" },
};
const names = Object.keys(FIGURES) as Figure[];
/** Undefined: the smaller one costs less than can be measured. */
const growthOf = (name: Figure): number | undefined => (few[name] === 0 ? undefined : many[name] / few[name]);

const shown = (value: number): string => value.toFixed(value < 1 ? 3 : 1);
const rows = names.map((name) => {
  const { what, target } = FIGURES[name];
  const verdict = target === undefined ? "" : `< ${String(target)}${many[name] < target ? "" : "  MISSED"}`;
  return [what, shown(few[name]), shown(many[name]), growthOf(name)?.toFixed(1) ?? "", verdict];
});
const head = [
  "control plane",
  `${String(SIZES.few)} nodes`,
  `${String(SIZES.many)} nodes`,
  "growth",
  flags.quick ? "target (of 5000 nodes)" : "target",
];
console.log(textTable([head, ...rows]));
console.log(`8 GPUs and 2 replicas on each node; streams that broke: ${String(few.lost)}, ${String(many.lost)}`);
if (flags.json) {
  const targets = names.flatMap((name) => {
    const { target } = FIGURES[name];
    return target === undefined ? [] : [[name, { value: many[name], target, ok: many[name] < target }] as const];
  });
  const growth = Object.fromEntries(names.map((name) => [name, growthOf(name)]));
  const sizes = [
    { nodes: SIZES.few, ...few },
    { nodes: SIZES.many, ...many },
  ];
  console.log(JSON.stringify({ targets: Object.fromEntries(targets), growth, sizes }));
}
