import { type Bytes, bytes } from "../core/ids.ts";
import type { ModelNeeds } from "../core/memory-estimate.ts";
import type { Measurement } from "../core/measured-memory.ts";
import type { Ask } from "./ask.ts";
import { versionOn } from "./island.ts";
import type { NodeView } from "./node-view.ts";

/** What was measured once may be a little more the next time: other requests, another driver. */
const MARGIN = 1.1;

/** What is booked for one that was measured before. */
export interface Booked {
  readonly host: Bytes;
  /** Undefined: of GPUs nothing is known. */
  readonly perGpu: Bytes | undefined;
}

/** From the measured figure, a margin, and what fills only with use. */
export function bookedBy(measurement: Measurement, needs: ModelNeeds): Booked {
  // On the CPU the weights are mapped: parts that no request has needed yet, such as experts, are not in the figure.
  const least = measurement.gpus === 0 ? needs.onCpu.weights : 0;
  const host = bytes(Math.max(Math.ceil(measurement.host * MARGIN), least) + (needs.grows ?? 0));
  if (measurement.perGpu === 0) return { host, perGpu: undefined };
  const estimate = needs.onGpus.find(({ gpus }) => gpus === measurement.gpus)?.perGpu;
  if (needs.takesItsShare !== true) return { host, perGpu: bytes(Math.ceil(measurement.perGpu * MARGIN)) };
  // It fills whatever it is given, so that the figure itself says nothing of what it needs; that it takes more than that does.
  return { host, perGpu: estimate === undefined ? undefined : bytes(estimate + measurement.beyond) };
}

/** What is known of the ask from running it on such a node before, on so many of its GPUs; undefined: nothing. */
export function measuredOn(view: NodeView, ask: Ask, gpus: number): Booked | undefined {
  const { measured = [] } = ask.needs;
  if (measured.length === 0) return undefined;
  const gpuType = gpus === 0 ? "" : typeOf(view);
  const engine = engineOn(view, ask);
  const found = measured.find((one) => one.gpus === gpus && one.gpuType === gpuType && one.engine === engine);
  return found === undefined ? undefined : bookedBy(found, ask.needs);
}

/** Undefined where there are several kinds: which of them it would be on is not decided yet. */
function typeOf({ gpus }: NodeView): string | undefined {
  const names = new Set(gpus.map(({ gpu }) => gpu.name));
  return names.size === 1 ? [...names][0] : undefined;
}

function engineOn({ node }: NodeView, { engines, offer }: Ask): string | undefined {
  const builds = engines.flatMap((name) => {
    const version = versionOn(node, name, offer);
    return version === undefined ? [] : [`${name} ${version}`];
  });
  return builds[0];
}
