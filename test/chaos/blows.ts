import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../e2e/wait.ts";
import type { Site } from "./site.ts";

/** One kind of harm that is done to the site, and undone again. */
export interface Blow {
  readonly name: string;
  /** How often among all. */
  readonly weight: number;
  /** `ms(least, most)` draws a time between the two. Resolves when the harm is undone. */
  strike(site: Site, ms: (least: number, most: number) => number): Promise<void>;
}

/** Starts an agent and waits for its word that it took over every engine that it should find. */
async function bringBackAgent(site: Site, engines: readonly number[]): Promise<void> {
  const agent = site.startAgent();
  await until(
    "the agent's word that it took over every engine",
    () => engines.every((pid) => new RegExp(`adopted .*pid ${String(pid)}\\b`).test(agent.output())),
    { seen: () => site.output() },
  );
}

async function endAgent(site: Site, signal: NodeJS.Signals): Promise<readonly number[]> {
  const engines = (await site.engines()).map(({ pid }) => pid);
  await site.agent?.end(signal);
  return engines;
}

export const BLOWS: readonly Blow[] = [
  {
    name: "agent: kill -9",
    weight: 4,
    async strike(site, ms) {
      const engines = await endAgent(site, "SIGKILL");
      await sleep(ms(0, 3000));
      await bringBackAgent(site, engines);
    },
  },
  {
    name: "agent: kill -9 while it starts",
    weight: 2,
    async strike(site, ms) {
      const engines = await endAgent(site, "SIGKILL");
      site.startAgent();
      await sleep(ms(50, 1500));
      await site.agent?.end("SIGKILL");
      await bringBackAgent(site, engines);
    },
  },
  {
    name: "agent: restart",
    weight: 2,
    async strike(site) {
      await bringBackAgent(site, await endAgent(site, "SIGTERM"));
    },
  },
  {
    name: "control plane: kill -9",
    weight: 4,
    async strike(site, ms) {
      await site.server?.end("SIGKILL");
      await sleep(ms(0, 5000));
      await site.startServer();
    },
  },
  {
    name: "control plane: restart",
    weight: 2,
    async strike(site) {
      await site.server?.end("SIGTERM");
      await site.startServer();
    },
  },
  {
    name: "both: kill -9",
    weight: 2,
    async strike(site, ms) {
      const [engines] = await Promise.all([endAgent(site, "SIGKILL"), site.server?.end("SIGKILL")]);
      await sleep(ms(0, 3000));
      await Promise.all([site.startServer(), bringBackAgent(site, engines)]);
    },
  },
  {
    name: "network: cut",
    weight: 3,
    async strike(site, ms) {
      site.link.cut();
      await sleep(ms(500, 8000));
      site.link.heal();
    },
  },
  {
    name: "network: silent",
    weight: 3,
    async strike(site, ms) {
      site.link.freeze();
      await sleep(ms(500, 8000));
      site.link.heal();
    },
  },
];

export function drawBlow(random: () => number): Blow {
  const total = BLOWS.reduce((sum, { weight }) => sum + weight, 0);
  let left = random() * total;
  const drawn = BLOWS.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  return drawn ?? (BLOWS[0] as Blow);
}
