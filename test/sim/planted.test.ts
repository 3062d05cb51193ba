import { expect, test } from "vitest";
import type { Machine } from "../../src/agent/machine.ts";
import type { SessionRequest, SessionResponse } from "../../src/wire/gen/llmgw/v1/agent_pb.js";
import type { RuleName } from "./rules.ts";
import type { Mangle } from "./network.ts";
import { simulate } from "./simulate.ts";
import { never } from "./sim-clock.ts";
import type { Planted } from "./world.ts";

// A check that finds nothing proves nothing. Each gets a cluster with one broken part in it, and must find it.

type Desired = Extract<SessionResponse["body"], { case: "desired" }>["value"];
type Said = SessionRequest["body"];

const isAgent = (party: string): boolean => party.startsWith("n");

/** Alters what agents are told to run. */
const telling =
  (alter: (desired: Desired) => void): Mangle =>
  (party, direction, message) => {
    const { body } = message as SessionResponse;
    if (isAgent(party) && direction === "down" && body.case === "desired") alter(body.value);
    return message;
  };

/** Alters what agents say. */
const saying =
  (alter: (said: Said, party: string) => void): Mangle =>
  (party, direction, message) => {
    if (isAgent(party) && direction === "up") alter((message as SessionRequest).body, party);
    return message;
  };

const inventoryIn = (said: Said) =>
  said.case === "hello" ? said.value.inventory : said.case === "inventory" ? said.value : undefined;

const onFirstGpu = (env: Readonly<Record<string, string>>) => ({
  ...env,
  CUDA_VISIBLE_DEVICES: (env["CUDA_VISIBLE_DEVICES"] ?? "").replaceAll(/-\d\b/g, "-0"),
});

let told = 0;
const everySecond = (): boolean => (told += 1) % 20 === 0;

const CASES: readonly { readonly rule: RuleName; readonly planted: Planted; readonly what: string }[] = [
  {
    what: "every engine is started on the node's first GPU",
    rule: "no GPU is given twice",
    planted: {
      machine: (machine): Machine => ({
        ...machine,
        spawnDetached: (program) => machine.spawnDetached({ ...program, env: onFirstGpu(program.env) }),
      }),
    },
  },
  {
    what: "an agent that comes back finds none of the processes that it had",
    rule: "a replica never runs twice",
    planted: {
      machine: (machine): Machine => ({
        ...machine,
        listFolders: () => Promise.resolve([]),
        findByEnvironment: () => Promise.resolve([]),
      }),
    },
  },
  {
    what: "every node says that it is on the same fabric",
    rule: "a gang is on one fabric, with all ranks or none",
    planted: {
      mangle: saying((said) => {
        const inventory = inventoryIn(said);
        for (const fabric of inventory?.fabrics ?? []) fabric.name = "ib-0";
      }),
    },
  },
  {
    what: "every node says that it is in the rack that is asked for",
    rule: "no replica is on a node that refused it",
    planted: {
      mangle: saying((said) => {
        const inventory = inventoryIn(said);
        if (inventory !== undefined) inventory.labels = { rack: "r1" };
      }),
    },
  },
  {
    what: "now and then a replica is missing in what a node is told",
    rule: "no healthy engine is stopped without a cause",
    planted: {
      mangle: telling((desired) => {
        if (everySecond()) desired.replicas = desired.replicas.slice(1);
      }),
    },
  },
  {
    what: "routers say that nothing is in flight",
    rule: "no planned change cuts a stream",
    planted: { routersReportNothing: true },
  },
  {
    what: "a control plane never suspects itself",
    rule: "no node is given up while most are silent",
    planted: { brake: 1, onlyFault: "most nodes are silent at once" },
  },
  {
    what: "one node never hears that anything of its was proven",
    rule: "what is wanted is reached once faults end",
    planted: {
      machine: (machine, host): Machine => (host.id === "n1" ? { ...machine, askEngine: () => never() } : machine),
    },
  },
];

test.each(CASES)("$what: $rule", async ({ rule, planted }) => {
  const found = new Set<RuleName>();
  for (let seed = 1; seed <= 12 && !found.has(rule); seed++) {
    for (const violation of (await simulate(seed, planted)).violations) found.add(violation.rule);
  }
  expect([...found]).toContain(rule);
});
