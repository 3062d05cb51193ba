import { GiB } from "../fakes/values.ts";
import { GPU_BYTES } from "./check-given.ts";
import type { Breach } from "./rules.ts";
import type { SimHost } from "./sim-host.ts";

/** What the engines of the profile small may fill of a GPU; those of others have theirs to themselves. */
const SMALL_BYTES = 9 * GiB;
const bytesOf = (replica: string): number => (replica.startsWith("small-") ? SMALL_BYTES : GPU_BYTES);

/** GPUs on which more runs than fits, whoever was told what. */
export function doubleUses(hosts: readonly SimHost[]): readonly Breach[] {
  const uses = hosts.flatMap((host) =>
    host.engines().flatMap(({ replica, engine }) => (engine?.gpus ?? []).map((gpu) => ({ gpu, replica }))),
  );
  return [...Map.groupBy(uses, ({ gpu }) => gpu)].flatMap(([gpu, on]): readonly Breach[] => {
    const bytes = on.reduce((sum, { replica }) => sum + bytesOf(replica), 0);
    const what = `${gpu} is used by ${on.map(({ replica }) => replica).join(" and ")}`;
    return bytes > GPU_BYTES ? [{ rule: "no GPU is given twice", what }] : [];
  });
}

/** Replicas of which two processes run; of one over several nodes: on the same node. */
export function doubleRuns(hosts: readonly SimHost[]): readonly Breach[] {
  const runs = hosts.flatMap((host) =>
    host.engines().map(({ replica, engine, stat }) => ({
      key: engine?.meeting === undefined ? replica : `the rank of ${replica} on ${host.id}`,
      where: `${host.id} as ${String(stat.pid)}`,
    })),
  );
  return [...Map.groupBy(runs, ({ key }) => key)].flatMap(([key, all]): readonly Breach[] => {
    const what = `${key} runs on ${all.map(({ where }) => where).join(" and on ")}`;
    return all.length > 1 ? [{ rule: "a replica never runs twice", what }] : [];
  });
}
