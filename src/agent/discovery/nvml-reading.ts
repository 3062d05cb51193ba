import { type Bytes, bytes, gpuUuid } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import type { NvmlAnswer, NvmlCard, NvmlDevice } from "../../platform/nvml-answer.ts";
import { type GpuMemory, isIntegrated, ownMemory, sharedMemory, type Sizes } from "./gpu-memory.ts";
import type { HostMemory } from "./meminfo.ts";
import { NVML, nvmlSays } from "./nvml-codes.ts";
import { NO_SLICE } from "./mig-list.ts";
import { nvmlLinks } from "./nvml-links.ts";
import { pciAddress } from "./pci.ts";
import { ROW_NOT_REPLACED, ROW_PENDING } from "./remapped-rows.ts";

/** A card that is counted and cannot be asked, not even for its name. */
export interface Unreachable {
  readonly index: number;
  readonly problem: string;
}

export interface NvmlGpus {
  readonly gpus: readonly Gpu[];
  readonly unreachable: readonly Unreachable[];
  /** NUMA nodes whose memory is a card's own, although the kernel counts it as the host's (Grace with Hopper or Blackwell). */
  readonly memoryNodes: readonly number[];
}

type Read = NvmlAnswer & { readonly kind: "read" };

/** Cards, with their slices in their place where they are cut. */
export function readNvmlGpus(answer: Read, host: HostMemory | undefined): NvmlGpus {
  const links = nvmlLinks(answer);
  const answering = answer.cards.filter(({ code }) => code === 0);
  const uuidAt = new Map(answering.map((card) => [card.index, uuidOf(card)]));
  const gpus = answering.flatMap((card): readonly Gpu[] => {
    const whole = cardOf(card, { driver: answer.driver, host });
    if (card.slices.length > 0) return card.slices.map((slice) => sliceOf(slice, whole));
    const own = links.flatMap(({ from, to, kind, lanes }) => {
      const uuid = uuidAt.get(to);
      return from !== card.index || uuid === undefined ? [] : [{ to: uuid, kind, lanes }];
    });
    return [{ ...whole, links: own }];
  });
  return {
    gpus,
    unreachable: answer.cards.flatMap(({ index, code }) =>
      code === 0 ? [] : [{ index, problem: whyUnreachable(code) }],
    ),
    memoryNodes: answering.flatMap(({ numbers }) => numbers["memoryNode"]?.slice(0, 1) ?? []),
  };
}

function whyUnreachable(code: number): string {
  return code === NVML.lost ? `lost: ${nvmlSays(code)}` : `cannot be asked: ${nvmlSays(code)}`;
}

/** Control characters would travel on to terminals and into JSON. */
const plain = (text: string): string => text.replace(/[\u0000-\u001f\u007f]/g, "");

/** CUDA takes an index where a UUID is asked for, and a board that hides its UUID has just this one GPU. */
const uuidOf = ({ texts, index }: NvmlCard) => gpuUuid(texts["uuid"] ?? String(index));

function cardOf(
  card: NvmlCard,
  { driver, host }: { readonly driver: string; readonly host: HostMemory | undefined },
): Gpu {
  const name = plain(card.texts["name"] ?? "NVIDIA GPU");
  return {
    uuid: uuidOf(card),
    index: card.index,
    name,
    ...memoryOf(card, name, host),
    problem: problemOf(card),
    driverVersion: driver,
    computeCapability: card.numbers["compute"]?.join(".") ?? "",
    pciBusId: pciAddress(card.texts["busId"] ?? ""),
    numaNode: undefined,
    links: [],
    parent: undefined,
  };
}

function memoryOf(card: NvmlCard, name: string, host: HostMemory | undefined): GpuMemory {
  const hasNone = card.failed["memory"] === NVML.notSupported && !isCut(card) && problemOf(card) === undefined;
  return isIntegrated(name) || hasNone ? sharedMemory(sizesOf(card), host) : ownMemory(sizesOf(card));
}

const isCut = ({ numbers }: NvmlDevice): boolean => numbers["mig"]?.[0] === 1;

function sliceOf(slice: NvmlDevice, whole: Gpu): Gpu {
  const uuid = slice.texts["uuid"];
  const unnamed = uuid === undefined ? "a MIG instance that has no UUID cannot be given to an engine" : undefined;
  return {
    ...whole,
    uuid: gpuUuid(uuid ?? `${whole.uuid}-slice`),
    name: plain(slice.texts["name"] ?? `${whole.name} MIG`),
    ...ownMemory(sizesOf(slice)),
    problem: unnamed ?? whole.problem,
    parent: whole.uuid,
  };
}

function sizesOf({ numbers }: NvmlDevice): Sizes {
  const [total, free, used] = numbers["memory"] ?? [];
  return { total: sizeOf(total), free: sizeOf(free), used: sizeOf(used) };
}

/** Drivers say "not known" with the greatest number there is. */
const sizeOf = (n: number | undefined): Bytes | undefined =>
  n === undefined || n < 0 || n > Number.MAX_SAFE_INTEGER ? undefined : bytes(Math.trunc(n));

/** First rule that applies wins: the gravest first. */
function problemOf(card: NvmlCard): string | undefined {
  const grave = Object.values(card.failed).find((code) => code === NVML.lost || code === NVML.resetRequired);
  if (grave !== undefined) return grave === NVML.lost ? `lost: ${nvmlSays(grave)}` : nvmlSays(grave);
  return memoryFault(card) ?? fabricFault(card) ?? unknownMemory(card) ?? uncutMig(card);
}

const uncutMig = (card: NvmlCard): string | undefined =>
  isCut(card) && card.slices.length === 0 ? NO_SLICE : undefined;

const RESET = "Reset it (nvidia-smi --gpu-reset) or start the machine again";

function memoryFault({ numbers }: NvmlCard): string | undefined {
  const [, , pending, failed] = numbers["remapped"] ?? [];
  if (failed === 1) return ROW_NOT_REPLACED;
  if (pending === 1) return ROW_PENDING;
  if (numbers["retired"]?.[0] === 1) return `a page of its memory waits to be retired. ${RESET}`;
  const errors = numbers["ecc"]?.[0] ?? 0;
  return errors > 0
    ? `${String(errors)} uncorrected memory errors (ECC) since its driver was loaded. ${RESET}`
    : undefined;
}

const NOT_STARTED = 1;
const IN_PROGRESS = 2;
const COMPLETED = 3;

/** On machines with NVSwitch no CUDA program starts before the fabric manager has made the card known to the switches. */
function fabricFault({ numbers }: NvmlCard): string | undefined {
  const [state = 0, status = 0] = numbers["fabric"] ?? [];
  if (state === NOT_STARTED) return "the fabric manager has not begun with it. Start nvidia-fabricmanager";
  if (state === IN_PROGRESS)
    return "the fabric manager has not finished with it. Look at nvidia-fabricmanager if that lasts";
  if (state === COMPLETED && status !== 0) return `the fabric manager failed on it: ${nvmlSays(status)}`;
  return undefined;
}

/** A card that does not say how much memory it has is no card without memory. */
function unknownMemory(card: NvmlCard): string | undefined {
  const code = card.failed["memory"];
  if (code === undefined || code === NVML.notSupported || isCut(card)) return undefined;
  return `its memory cannot be read: ${nvmlSays(code)}`;
}
