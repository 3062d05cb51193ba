import { type Millis, millis } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import type { Clock } from "../../platform/clock.ts";
import { type KernelLog, openKernelLog } from "../../platform/kernel-log.ts";
import { hasEnded, lookAtProcess } from "../../platform/proc.ts";
import { readAttribute } from "../../platform/sysfs.ts";
import { createDriverReader, type DriverEvidence, driverProblem, isReachable } from "./driver-evidence.ts";
import { completeGpus } from "./gpu-set.ts";
import { askNvml, type NotAsked, NVML_LIBRARIES, type SourceReading } from "./gpu-source.ts";
import { findTool, GpuTool } from "./gpu-tool.ts";
import { type LastKnown } from "./last-known.ts";
import { jetsonGpu } from "./jetson.ts";
import { type HostMemory, parseNodeMeminfo } from "./meminfo.ts";
import { within } from "../within.ts";
import { type CardFault, cardFaults } from "./xid.ts";

export interface GpuFindings {
  readonly gpus: readonly Gpu[];
  /** Memory that the kernel counts as the host's and that is GPUs' own. */
  readonly countedTwice: readonly HostMemory[];
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export interface GpuOptions {
  /** discovery.nvidia_smi; "" looks for it. */
  readonly tool: string;
  /** discovery.prefer_nvml. */
  readonly preferNvml: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Other libraries than the driver's usual ones; they are asked whether a driver is to be seen or not. */
  readonly libraries?: readonly string[];
  /** Stands before /proc, /sys and /dev; "" on a real machine. */
  readonly root?: string;
  /** Without it the first look knows nothing of what was there before. */
  readonly lastKnown?: LastKnown;
  /** How long one source may take; the default is long enough for a driver that wakes all its cards first. */
  readonly deadline?: Millis;
  /** How old findings may become; the default is half a minute, since each look costs a tenth of a second of a core. */
  readonly pace?: Millis;
}

const DEADLINE = millis(15_000);
/** The rest of the machine is not kept waiting longer for newer findings: they are there at the next look. */
const PATIENCE = millis(2_000);
const PACE = millis(30_000);

/** Reads the GPUs again and again, and keeps the last ones known while they cannot be read. */
export function createGpuReader(options: GpuOptions): (host: HostMemory | undefined) => Promise<GpuFindings> {
  const reader = new GpuReader(options);
  const { clock, pace = PACE } = options;
  let last: { readonly at: Millis; readonly findings: GpuFindings } | undefined;
  let pending: Promise<GpuFindings> | undefined;
  const look = async (host: HostMemory | undefined): Promise<GpuFindings> => {
    try {
      const findings = await reader.look(host);
      last = { at: clock.monotonic(), findings };
      return findings;
    } finally {
      pending = undefined;
    }
  };
  return async (host) => {
    if (last !== undefined && clock.monotonic() - last.at < pace) return last.findings;
    pending ??= look(host);
    if (last === undefined) return pending;
    return within(PATIENCE, { clock, promise: pending, otherwise: last.findings });
  };
}

class GpuReader {
  readonly #options: GpuOptions;
  readonly #root: string;
  readonly #driver: ReturnType<typeof createDriverReader>;
  readonly #log: KernelLog | undefined;
  readonly #tools = new Map<string, GpuTool>();
  /** What the driver wrote into the kernel's log. */
  #lines: readonly string[] = [];
  #known: readonly Gpu[] = [];
  /** What an earlier agent knew: shown while nothing newer is known, and no proof of anything. */
  #before: readonly Gpu[] | undefined;
  /** The last source that was killed and did not end: a second one would only wait beside it. */
  #stuck: { readonly pid: number; readonly reason: string } | undefined;

  constructor(options: GpuOptions) {
    this.#options = options;
    this.#root = options.root ?? "";
    this.#driver = createDriverReader(this.#root);
    this.#log = openKernelLog(`${this.#root}/dev/kmsg`);
  }

  async look(host: HostMemory | undefined): Promise<GpuFindings> {
    const evidence = await this.#driver.read();
    this.#before ??= (await this.#options.lastKnown?.load()) ?? [];
    const stuck = await this.#whyStuck();
    if (stuck !== undefined) return this.#withoutAnswer(stuck, []);
    const { reading, notes } = await this.#ask(host, evidence);
    if (reading === undefined) return this.#withoutSource({ host, evidence, notes });
    if (reading.kind === "noAnswer") {
      if (reading.survivor !== undefined) this.#stuck = { pid: reading.survivor, reason: reading.reason };
      return this.#afterSilence({ reading, evidence, notes });
    }
    const { gpus, unreachable, memoryNodes, how } = reading;
    this.#known = completeGpus({ gpus, unreachable, known: this.#known, pci: evidence.cards, faults: this.#faults() });
    await this.#options.lastKnown?.save(this.#known);
    return {
      gpus: this.#known,
      countedTwice: await this.#memoryOf(memoryNodes),
      problems: sickCards(this.#known),
      notes: [`GPUs are read by ${how}`, ...notes],
    };
  }

  /** NVML where it is wanted and answers, else the tool; with why not the first. Undefined: there is neither. */
  async #ask(
    host: HostMemory | undefined,
    evidence: DriverEvidence,
  ): Promise<{ readonly reading: SourceReading | undefined; readonly notes: readonly string[] }> {
    const nvml = await this.#askNvml(host, evidence);
    // What hung one way hangs the other.
    if (nvml.kind === "read" || (nvml.kind === "noAnswer" && nvml.hung)) return { reading: nvml, notes: [] };
    const path = await findTool(this.#options);
    if (path === undefined) return { reading: nvml.kind === "noAnswer" ? nvml : undefined, notes: [] };
    const tool =
      this.#tools.get(path) ??
      new GpuTool(path, { env: this.#options.env, deadline: this.#options.deadline ?? DEADLINE });
    this.#tools.set(path, tool);
    const reading = await tool.read(host);
    return { reading, notes: [`NVML is not used: ${nvml.reason}`] };
  }

  async #askNvml(host: HostMemory | undefined, evidence: DriverEvidence): Promise<SourceReading | NotAsked> {
    const { preferNvml, libraries, env, deadline = DEADLINE } = this.#options;
    if (!preferNvml) return { kind: "notAsked", reason: "discovery.prefer_nvml is false" };
    if (libraries === undefined && !isReachable(evidence)) {
      return { kind: "notAsked", reason: "no NVIDIA driver is loaded" };
    }
    return askNvml({ libraries: libraries ?? NVML_LIBRARIES, env, deadline }, host);
  }

  async #whyStuck(): Promise<string | undefined> {
    if (this.#stuck === undefined) return undefined;
    const look = await lookAtProcess(this.#stuck.pid);
    if (look.kind === "unknown" || (look.kind === "there" && !hasEnded(look.stat))) {
      return `${this.#stuck.reason}; process ${String(this.#stuck.pid)} waits in the kernel still`;
    }
    this.#stuck = undefined;
    return undefined;
  }

  /** What runs on these GPUs goes on; only nothing new is placed on what cannot be looked at. */
  #withoutAnswer(reason: string, notes: readonly string[]): GpuFindings {
    const last = this.#known.length > 0 ? this.#known : (this.#before ?? []);
    const gpus = last.map((gpu) => ({ ...gpu, problem: gpu.problem ?? `cannot be read now: ${reason}` }));
    return { gpus, countedTwice: [], problems: [reason], notes };
  }

  #afterSilence({
    reading,
    evidence,
    notes,
  }: {
    readonly reading: SourceReading & { readonly kind: "noAnswer" };
    readonly evidence: DriverEvidence;
    readonly notes: readonly string[];
  }): GpuFindings {
    // The tool is on many machines that were never meant to compute, as images that carry it are.
    const isNobodysLoss = this.#known.length === 0 && evidence.cards.length === 0 && !isReachable(evidence);
    if (isNobodysLoss && this.#options.tool === "" && this.#options.libraries === undefined) {
      const note = "nvidia-smi is there, but no NVIDIA driver is loaded and no NVIDIA GPU is to be seen";
      return { gpus: [], countedTwice: [], problems: [], notes: [note] };
    }
    return this.#withoutAnswer(driverProblem(evidence) ?? reading.reason, notes);
  }

  async #withoutSource({
    host,
    evidence,
    notes,
  }: {
    readonly host: HostMemory | undefined;
    readonly evidence: DriverEvidence;
    readonly notes: readonly string[];
  }): Promise<GpuFindings> {
    const board = await readAttribute(`${this.#root}/proc/device-tree/model`);
    const jetson = board === undefined ? undefined : jetsonGpu(board, host);
    if (jetson !== undefined) {
      return { gpus: [jetson], countedTwice: [], problems: [], notes: ["the GPU is the board's own", ...notes] };
    }
    if (this.#known.length > 0) return this.#withoutAnswer(driverProblem(evidence) ?? NO_SOURCE, notes);
    if (isReachable(evidence)) {
      return { gpus: [], countedTwice: [], problems: [driverProblem(evidence) ?? NO_SOURCE], notes };
    }
    // A card for a screen, or one that nobody installed a driver for, is no fault of the node.
    const unused = driverProblem(evidence);
    return { gpus: [], countedTwice: [], problems: [], notes: unused === undefined ? notes : [unused, ...notes] };
  }

  #faults(): readonly CardFault[] {
    const fresh = (this.#log?.read() ?? []).filter((line) => line.includes("NVRM:"));
    this.#lines = [...this.#lines, ...fresh].slice(-KEPT_LINES);
    return cardFaults(this.#lines);
  }

  async #memoryOf(nodes: readonly number[]): Promise<readonly HostMemory[]> {
    const texts = await Promise.all(
      nodes.map((node) => readAttribute(`${this.#root}/sys/devices/system/node/node${String(node)}/meminfo`)),
    );
    return texts.flatMap((text) => {
      const memory = text === undefined ? undefined : parseNodeMeminfo(text);
      return memory === undefined ? [] : [memory];
    });
  }
}

/** A driver in trouble writes for ever; what decides is at the end. */
const KEPT_LINES = 2_000;

const NO_SOURCE =
  "driver: an NVIDIA driver is loaded, but neither its library NVML nor nvidia-smi is found: name the tool in discovery.nvidia_smi";

const sickCards = (gpus: readonly Gpu[]): readonly string[] =>
  gpus.flatMap(({ index, uuid, problem }) =>
    problem === undefined ? [] : [`GPU ${String(index)} (${uuid}): ${problem}`],
  );
