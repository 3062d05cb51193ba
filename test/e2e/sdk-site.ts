import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { thinkingCaller } from "../fakes/thinking-caller.ts";
import { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

/** What the official clients meet: a router that asks for keys, and models of each kind on real engines. */
export interface SdkSite {
  readonly cluster: Cluster;
  /** Without the /v1, as Anthropic's clients want it. */
  readonly origin: string;
  /** May do everything. */
  readonly key: string;
  /** May ask for `other` alone. */
  readonly narrowKey: string;
  /** May ask once a minute, and no more than that. */
  readonly slowKey: string;
}

/** Models: `tiny` says noise of any length, `caller` thinks and calls a tool, `away` is served by nobody. */
export async function startSdkSite(): Promise<SdkSite> {
  const cluster = await Cluster.start({ auth: "keys" });
  const file = join(cluster.dir, "caller.gguf");
  await writeFile(file, thinkingCaller());
  await cluster.apply({ name: "tiny", model: { source: "tiny:" }, context: 32_768, args: ["-t", "1"] });
  await cluster.apply({ name: "caller", model: { source: `file:${file}` }, context: 4096, args: ["-t", "1"] });
  await cluster.apply({ name: "away", model: { source: "tiny:" }, replicas: 0 });
  const create = async (...args: readonly string[]): Promise<string> =>
    (await cluster.ctl("keys", "create", ...args)).stdout.trim();
  const [key, narrowKey, slowKey] = await Promise.all([
    create("all"),
    create("narrow", "--models", "other"),
    create("slow", "--rpm", "1"),
  ]);
  await cluster.ready("tiny");
  await cluster.ready("caller");
  const origin = cluster.baseUrl.replace("/v1", "");
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  await until("both models answering", async () => {
    const ask = (model: string): Promise<Response> =>
      fetch(`${cluster.baseUrl}/completions`, {
        method: "POST",
        headers,
        body: JSON.stringify({ model, prompt: "x", max_tokens: 1 }),
      });
    return (await ask("tiny")).ok && (await ask("caller")).ok;
  });
  return { cluster, origin, key, narrowKey, slowKey };
}
