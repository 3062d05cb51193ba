import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "./cluster.ts";
import { finished } from "./process.ts";
import { until } from "./wait.ts";

const STREAMS = 32;
const TOKENS = 100;
const PROFILE = {
  name: "tiny",
  model: { source: "tiny:" },
  context: 8192,
  args: ["-np", "32", "-t", "1"],
  replicas: 2,
  rollout: { drain: "60s" },
};

/** One stream to its end: "whole" when every token and a proper end came, else what came instead. */
async function oneStream(url: string): Promise<string> {
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "tiny",
      messages: [{ role: "user", content: "Hello" }],
      max_tokens: TOKENS,
      stream: true,
      ignore_eos: true,
      stream_options: { include_usage: true },
    }),
  });
  const text = await response.text();
  const isWhole = text.trimEnd().endsWith("data: [DONE]") && text.includes(`"completion_tokens":${String(TOKENS)}`);
  return response.ok && isWhole ? "whole" : `${String(response.status)} ${text.slice(-300)}`;
}

interface Load {
  readonly outcomes: Readonly<Record<string, number>>;
}

/** So many clients that begin the next stream when one has ended, for as long as the work takes. */
async function underStreams(url: string, work: () => Promise<void>): Promise<Load> {
  const outcomes: Record<string, number> = {};
  let isOver = false;
  const clients = Array.from({ length: STREAMS }, async () => {
    while (!isOver) {
      const outcome = await oneStream(url).catch(String);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  });
  await until("the first streams to end", () => (outcomes["whole"] ?? 0) >= STREAMS);
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  return { outcomes };
}

describe("changing what serves, under streams", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await Cluster.start();
    await cluster.addNode("node-b", "42000-42999");
    await cluster.apply(PROFILE);
    await until("two ready replicas", () => settledOn(2, []));
  });

  afterAll(async () => {
    await cluster.stop();
  });

  /** All ready, so many, and none of those that were there before. */
  async function settledOn(count: number, before: readonly string[]): Promise<boolean> {
    const all = await cluster.replicas("tiny");
    const failed = all.find(({ state }) => state === "failed");
    if (failed !== undefined) throw new Error(`failed: ${failed.reason ?? ""}`);
    return all.length === count && all.every(({ id, state }) => state === "ready" && !before.includes(id));
  }

  const idsOn = async (node?: string): Promise<readonly string[]> =>
    (await cluster.replicas("tiny")).filter((one) => node === undefined || one.node === node).map(({ id }) => id);

  async function streamsCut(): Promise<number> {
    const metrics = await (await fetch(`${cluster.adminUrl}/metrics`)).text();
    // Without it a missing counter would pass for one that is 0.
    expect(metrics).toContain("# TYPE llmgw_router_streams_cut_total counter");
    const lines = metrics.split("\n").filter((line) => line.startsWith("llmgw_router_streams_cut_total"));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  test("diff and plan end with 0, 1 or 2, and change nothing", async () => {
    const env = cluster.ctlEnv;
    const told = async (verb: readonly string[], profile: object): Promise<{ code: number; stdout: string }> =>
      finished(["ctl", ...verb, "-f", "-"], { env, input: JSON.stringify({ kind: "Profile", ...profile }) });
    const before = await idsOn();
    const same = await told(["diff"], PROFILE);
    const other = await told(["diff"], { ...PROFILE, context: 4096 });
    const plan = await told(["apply", "--plan"], { ...PROFILE, context: 4096 });
    const wrong = await told(["diff"], { ...PROFILE, model: {} });
    expect([same.code, other.code, plan.code, wrong.code]).toEqual([0, 1, 1, 2]);
    expect(same.stdout).toBe("");
    expect(other.stdout).toBe("~ profile/tiny\n  - context: 8192\n  + context: 4096\n");
    expect(plan.stdout).toContain("2 replicas are replaced: each new one is ready before an old one goes");
    const away = await finished(["ctl", "diff", "-f", "-"], {
      env: { ...env, LLMGW_SERVER: "http://127.0.0.1:1" },
      input: JSON.stringify({ kind: "Profile", ...PROFILE }),
    });
    expect(away.code).toBe(2);
    expect(await idsOn()).toEqual(before);
  });

  test("a rolling update cuts no stream", async () => {
    const before = await idsOn();
    const { outcomes } = await underStreams(cluster.baseUrl, async () => {
      await cluster.apply({ ...PROFILE, context: 4096 });
      await until("two new replicas", () => settledOn(2, before), { timeoutMs: 100_000 });
    });
    expect(Object.keys(outcomes)).toEqual(["whole"]);
    expect(await streamsCut()).toBe(0);
  });

  test("the drain of a node cuts no stream, and leaves nothing there", async () => {
    // Where the update has put them is the scheduler's choice.
    const drained = (await cluster.replicas("tiny"))[0]?.node ?? "";
    const before = await idsOn(drained);
    expect(before).not.toEqual([]);
    const { outcomes } = await underStreams(cluster.baseUrl, async () => {
      await cluster.admin("Drain", { node: drained });
      await until("all replicas on the other node", () => settledOn(2, before), { timeoutMs: 100_000 });
    });
    expect(Object.keys(outcomes)).toEqual(["whole"]);
    expect(await streamsCut()).toBe(0);
    expect(await idsOn(drained)).toEqual([]);
  });

  test("what the engines really take is measured, and kept for the next of this build", async () => {
    interface Measured {
      readonly replicas: readonly { readonly measured?: readonly { readonly memory: { readonly host: number } }[] }[];
    }
    const hosts = async (): Promise<readonly number[]> => {
      const { replicas } = await cluster.admin<Measured>("ListReplicas", { profile: "tiny" });
      return replicas.flatMap(({ measured = [] }) => measured.map(({ memory }) => memory.host));
    };
    await until("both to be measured", async () => (await hosts()).length === 2, { timeoutMs: 60_000 });
    const most = Math.max(...(await hosts()));
    // A process with its libraries, and less than the machine has.
    expect(most).toBeGreaterThan(10 * 2 ** 20);
    expect(most).toBeLessThan(4 * 2 ** 30);
    const { nodes } = await cluster.admin<{
      nodes: readonly { readonly inventory: { readonly engines: readonly { name: string; version: string }[] } }[];
    }>("ListNodes");
    const [build] = nodes[0]?.inventory.engines ?? [];
    const { stdout } = await cluster.ctl("explain", "tiny", "-o", "json");
    const { measured } = JSON.parse(stdout) as {
      measured: readonly { readonly engine: string; readonly host: number; readonly hostBooked: number }[];
    };
    expect(measured).toMatchObject([{ engine: `${build?.name ?? ""} ${build?.version ?? ""}` }]);
    expect(measured[0]?.host).toBeGreaterThanOrEqual(most);
    expect(measured[0]?.hostBooked).toBeGreaterThan(most);
    const wide = await cluster.ctl("replicas", "-o", "wide");
    expect(wide.stdout).toMatch(/ESTIMATE +MEASURED/);
  });
});
