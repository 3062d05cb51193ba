import type { Fabric, FabricPort, FabricSpec } from "../../core/node.ts";
import type { IbPort } from "./infiniband.ts";

/** The RDMA adapters of a machine, or why they cannot be read. */
export type IbReading =
  | { readonly kind: "read"; readonly hcas: readonly string[]; readonly ports: readonly IbPort[] }
  | { readonly kind: "unreadable"; readonly reason: string };

export interface FabricFinding {
  readonly fabric: Fabric;
  readonly notes: readonly string[];
}

/** Whether the fabric that the configuration names is there as it says. One adapter that is wrong spoils it: a rank would hang on it. */
export function judgeFabric(spec: FabricSpec, reading: IbReading, root: string): FabricFinding {
  if (reading.kind === "unreadable") return { fabric: { ...spec, ports: [], problem: reading.reason }, notes: [] };
  const layer = meantLayer(spec);
  const judged = spec.hcas.map((hca) => judgeAdapter(hca, { spec, layer, reading, root }));
  const problems = judged.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  return {
    fabric: {
      ...spec,
      ports: judged.flatMap(({ port }) => (port === undefined ? [] : [shown(port)])),
      problem: problems.length === 0 ? undefined : problems.join("; "),
    },
    notes: judged.flatMap(({ note }) => (note === undefined ? [] : [`fabric ${spec.name}: ${note}`])),
  };
}

type Layer = "InfiniBand" | "Ethernet";

/** Nothing but a name can say that RoCE is meant: the link layer that is found is what is to be checked. */
function meantLayer({ name, hcas }: FabricSpec): Layer {
  const isRoce = /roce|ethernet|(^|[-_.])eth/i.test(name) || hcas.every((hca) => hca.startsWith("roce"));
  return isRoce ? "Ethernet" : "InfiniBand";
}

interface Context {
  readonly spec: FabricSpec;
  readonly layer: Layer;
  readonly reading: IbReading & { readonly kind: "read" };
  readonly root: string;
}

interface Judged {
  /** The port that the adapter would be used through; undefined: it has none. */
  readonly port: IbPort | undefined;
  readonly problem: string | undefined;
  readonly note: string | undefined;
}

function judgeAdapter(hca: string, context: Context): Judged {
  const { hcas, ports } = context.reading;
  if (!hcas.includes(hca)) {
    const there = hcas.length === 0 ? "it has none" : `there are ${hcas.join(", ")}`;
    return { port: undefined, problem: `there is no adapter ${hca} in ${context.root}: ${there}`, note: undefined };
  }
  const judged = ports.filter((port) => port.hca === hca).map((port) => judgePort(port, context));
  // An adapter with two ports is fine when one of them is; otherwise the port that came farthest is the one that is told of.
  const best = judged.toSorted((a, b) => b.passed - a.passed)[0];
  return best ?? { port: undefined, problem: `${hca} shows no port`, note: undefined };
}

interface JudgedPort extends Judged {
  /** How many of the checks it passed. */
  readonly passed: number;
}

/** First check that fails is the reason. */
function judgePort(port: IbPort, { spec, layer }: Context): JudgedPort {
  const at = `${port.hca} port ${String(port.port)}`;
  if (port.linkLayer !== layer) {
    const way = layer === "InfiniBand" ? ' (a fabric over Ethernet needs "roce" in its name)' : "";
    return { port, passed: 0, problem: `${at} is ${port.linkLayer}, not ${layer}${way}`, note: undefined };
  }
  if (!port.isUp) return { port, passed: 1, problem: `${at} is not up: ${whyDown(port)}`, note: undefined };
  const { rateGbps: asked } = spec;
  if (asked === 0 || port.rateGbps === 0 || port.rateGbps >= asked) {
    return { port, passed: 3, problem: undefined, note: undefined };
  }
  const words = port.rateWords === "" ? "" : ` (${port.rateWords})`;
  const slow = `${at} runs at ${String(port.rateGbps)} Gbit/s${words}, less than rate_gbps ${String(asked)}`;
  if (!isDoubtful(port, asked)) return { port, passed: 2, problem: slow, note: undefined };
  const doubt = `${slow}; but kernels say SDR of speeds too new for them, so look with ibstat`;
  return { port, passed: 3, problem: undefined, note: doubt };
}

/** Kernels know HDR (50 Gbit/s a lane, 200 with four) longer than any machine that runs this; the speeds above are younger. */
function isDoubtful({ rateWords }: IbPort, asked: number): boolean {
  return /\bSDR\b/.test(rateWords) && (asked > 200 || rateWords.startsWith("2X"));
}

function whyDown({ state, physState }: IbPort): string {
  const words = [state, physState].filter((word) => word !== "").join(", ");
  const said = words === "" ? "its state cannot be read" : words;
  if (state === "INIT" && physState === "LinkUp") return `${said}: no subnet manager has answered`;
  if (physState === "Disabled") return `${said}: it was switched off`;
  if (physState === "Polling") return `${said}: nothing answers at the other end of its cable`;
  return said;
}

const shown = ({ hca, port, state, linkLayer, rateGbps, pciBusId, numaNode, addresses }: IbPort): FabricPort => ({
  hca,
  port,
  state,
  linkLayer,
  rateGbps,
  pciBusId,
  numaNode,
  addresses,
});
