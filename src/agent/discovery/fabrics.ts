import { millis } from "../../core/ids.ts";
import type { Fabric, FabricSpec } from "../../core/node.ts";
import type { Clock } from "../../platform/clock.ts";
import { listAddresses } from "../../platform/route.ts";
import { linkedName, listEntries, readAttribute } from "../../platform/sysfs.ts";
import { type IbReading, judgeFabric } from "./fabric-verdict.ts";
import { type IbPort, portOf } from "./infiniband.ts";
import { within } from "../within.ts";

export interface FabricFindings {
  readonly fabrics: readonly Fabric[];
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export interface FabricOptions {
  /** discovery.ib_root. */
  readonly root: string;
  readonly fabrics: readonly FabricSpec[];
  readonly clock: Clock;
}

/** An adapter whose firmware is stuck answers its driver after minutes, and the reader waits in the kernel with it. */
const DEADLINE = millis(5_000);
/** Tables have room for 256 and fill from the start; the addresses of a port are its first few. */
const GIDS = 16;

/** Reads the adapters again and again; while one reading is stuck no second one is begun. */
export function createFabricReader({ root, fabrics, clock }: FabricOptions): () => Promise<FabricFindings> {
  let pending: Promise<IbReading> | undefined;
  return async () => {
    if (fabrics.length === 0) return { fabrics: [], problems: [], notes: [] };
    pending ??= readAdapters(root).finally(() => {
      pending = undefined;
    });
    const reading = await within(DEADLINE, { clock, promise: pending, otherwise: tooLate(root) });
    const findings = fabrics.map((spec) => judgeFabric(spec, reading, root));
    return {
      fabrics: findings.map(({ fabric }) => fabric),
      problems: findings.flatMap(({ fabric: { name, problem } }) =>
        problem === undefined ? [] : [`fabric ${name}: ${problem}`],
      ),
      notes: findings.flatMap(({ notes }) => notes),
    };
  };
}

const tooLate = (root: string): IbReading => ({
  kind: "unreadable",
  reason: `${root} was not read within ${String(DEADLINE / 1000)} s, as with an adapter that hangs`,
});

async function readAdapters(root: string): Promise<IbReading> {
  const hcas = await listEntries(root);
  if (!hcas.ok) {
    const reason = `${root} cannot be read (${hcas.error}): no RDMA driver is loaded, or this container does not show it`;
    return { kind: "unreadable", reason };
  }
  const ports = await Promise.all(hcas.value.map((hca) => readPorts(root, hca)));
  return { kind: "read", hcas: hcas.value, ports: ports.flat() };
}

async function readPorts(root: string, hca: string): Promise<readonly IbPort[]> {
  const folder = `${root}/${hca}`;
  const [numbers, device, numaNode, interfaces] = await Promise.all([
    listEntries(`${folder}/ports`),
    linkedName(`${folder}/device`),
    readAttribute(`${folder}/device/numa_node`),
    listEntries(`${folder}/device/net`),
  ]);
  const names = interfaces.ok ? interfaces.value : [];
  const addresses = listAddresses().flatMap(({ interface: name, address }) => (names.includes(name) ? [address] : []));
  const ports = (numbers.ok ? numbers.value : []).filter((name) => /^\d{1,3}$/.test(name));
  return Promise.all(
    ports.map(async (port) => {
      const read = (name: string) => readAttribute(`${folder}/ports/${port}/${name}`);
      const [state, physState, rate, linkLayer] = await Promise.all(
        ["state", "phys_state", "rate", "link_layer"].map(read),
      );
      const gids = await Promise.all(Array.from({ length: GIDS }, (_, index) => read(`gids/${String(index)}`)));
      const known = gids.filter((gid) => gid !== undefined);
      const texts = { hca, port: Number(port), state, physState, rate, linkLayer, gids: known, device, numaNode };
      // Adapters with several ports have one interface for each and do not say which is whose; the GIDs do.
      return portOf(texts, ports.length === 1 ? addresses : []);
    }),
  );
}
